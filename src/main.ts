#!/usr/bin/env node
/**
 * The `stonegate` command with everything in it. `cli/user-commands.ts` has the part that is bundled for
 * users.
 */
import type { ListedCommand } from './cli/command.ts';
import { runProgram } from './cli/program.ts';
import { type OperatorCommand, USER_COMMANDS } from './cli/user-commands.ts';
import { version } from './cli/version.ts';

const OPERATOR_COMMANDS: Readonly<Record<OperatorCommand, ListedCommand>> = {
  serve: {
    does: 'serve a Kubernetes API behind Keystone and OIDC identities',
    load: async () => (await import('./app/commands/serve.ts')).serve,
  },
  check: {
    does: 'validate a configuration',
    load: async () => (await import('./app/commands/check.ts')).check,
  },
  manifests: {
    does: 'print what must be applied at the API server',
    load: async () => (await import('./cli/manifests.ts')).manifests,
  },
  cache: {
    does: 'drop what is cached of a user or a tenant',
    load: async () => (await import('./app/commands/cache-drop.ts')).cacheDrop,
  },
  publish: {
    does: 'copy published objects into tenants',
    load: async () => (await import('./app/commands/publish.ts')).publish,
  },
  sync: {
    does: "create namespaces and rolebindings for Keystone's projects and roles",
    load: async () => (await import('./app/commands/sync.ts')).sync,
  },
  usage: {
    does: 'add up what tenants and projects have used',
    load: async () => (await import('./cli/usage/usage.ts')).usage,
  },
};

const explain: ListedCommand = {
  ...USER_COMMANDS.explain,
  load: async () => (await import('./app/commands/explain.ts')).explainCommand,
};

process.exitCode = await runProgram(
  { commands: { ...USER_COMMANDS, explain }, operatorCommands: OPERATOR_COMMANDS, version },
  process.argv.slice(2),
  {
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    // Zero for a terminal without a size.
    width: process.stdout.columns || undefined,
  },
);
