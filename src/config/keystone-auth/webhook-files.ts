/**
 * What the files that `webhook` names hold: their problems are problems of the configuration.
 */
import type { StonegateConfiguration, WebhookSource } from '../../api/config-v1alpha1.ts';
import type { KeystoneSync } from '../../api/keystone-auth.ts';
import type { Finding } from '../problem.ts';
import { type Read, readPolicy } from './policy-file.ts';
import { readSync } from './sync-file.ts';

type Content = (file: string) => Buffer | undefined;

export function checkWebhookFiles(configuration: StonegateConfiguration, content: Content): Finding[] {
  const { policy, sync } = configuration.webhook ?? {};
  return [
    ...problemsOf(['webhook', 'policy', 'file'], policy, content, readPolicy),
    ...problemsOf(['webhook', 'sync', 'file'], sync, content, readSync),
    ...impossibleIn(configuration, sync, content),
  ];
}

/** Reads synchronisation rules that this configuration can carry out. */
export function syncReader(
  configuration: Pick<StonegateConfiguration, 'bindings' | 'tenancy'>,
): (content: string) => Read<KeystoneSync> {
  return (content) => {
    const read = readSync(content);
    if (!read.ok) return read;
    const problems = impossible(read.value, configuration);
    return problems.length === 0 ? read : { ok: false, problems };
  };
}

function impossible(
  { projects, roleAssignments, roleMappings }: KeystoneSync,
  { bindings, tenancy }: Pick<StonegateConfiguration, 'bindings' | 'tenancy'>,
): string[] {
  const problems: string[] = [];
  if ((projects || roleAssignments) && bindings.credential === undefined) {
    problems.push(
      'data-types-to-sync: needs bindings.credential, by which Stonegate makes namespaces and rolebindings',
    );
  }
  if (tenancy.mode === 'arktos' && roleMappings.some(({ username }) => username !== undefined)) {
    problems.push(
      'role-mappings: expected no username: in arktos mode the API server reads the tenant from the name',
    );
  }
  return problems;
}

/** Of a file that can be read; the rest of the configuration decides. */
function impossibleIn(
  configuration: StonegateConfiguration,
  source: WebhookSource | undefined,
  content: Content,
): Finding[] {
  const found = source !== undefined && 'file' in source ? content(source.file) : undefined;
  const read = found && readSync(found.toString('utf8'));
  if (!read?.ok) return [];
  return impossible(read.value, configuration).map((message) => ({
    path: ['webhook', 'sync', 'file'],
    message,
    because: [
      ['bindings', 'credential'],
      ['tenancy', 'mode'],
    ],
  }));
}

function problemsOf(
  path: readonly string[],
  source: WebhookSource | undefined,
  content: Content,
  read: (content: string) => Read<unknown>,
): Finding[] {
  if (source === undefined || !('file' in source)) return [];
  const found = content(source.file);
  if (found === undefined) return [];
  const result = read(found.toString('utf8'));
  return result.ok ? [] : result.problems.map((message) => ({ path, message }));
}
