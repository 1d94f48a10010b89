/**
 * The commands that need Stonegate's configuration or the server. The client does not contain them, and says
 * so by their names.
 */
import type { Commands } from '../cli/command.ts';

export const OPERATOR_COMMANDS: Commands = {
  serve: {
    does: 'serve a Kubernetes API behind Keystone and OIDC identities',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  check: {
    does: 'validate a configuration',
    load: async () => (await import('./commands/check.ts')).check,
  },
  manifests: {
    does: 'print what must be applied at the API server',
    load: async () => (await import('./commands/manifests.ts')).manifests,
  },
  cache: {
    does: 'drop what is cached of a user or a tenant',
    load: async () => (await import('./commands/cache-drop.ts')).cacheDrop,
  },
  publish: {
    does: 'copy published objects into tenants',
    load: async () => (await import('./commands/publish.ts')).publish,
  },
  sync: {
    does: "create namespaces and rolebindings for Keystone's projects and roles",
    load: async () => (await import('./commands/sync.ts')).sync,
  },
  usage: {
    does: 'add up what tenants and projects have used',
    load: async () => (await import('../cli/usage/usage.ts')).usage,
  },
};
