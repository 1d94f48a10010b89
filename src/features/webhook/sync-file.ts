/**
 * Parses a synchronization file of k8s-keystone-auth and checks the files that `webhook` names. The
 * namespace format must produce valid names, and reserved names are never mapped to.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import { readYAML } from '../../config/documents.ts';
import type { Finding, Problem } from '../../config/problem.ts';
import { text } from '../../lib/schema-fields.ts';
import type { KeystoneSync, RoleMapping } from '../bindings/feature.ts';
import { checked, type ParseResult, readPolicy } from './policy-file.ts';
import type { WebhookConfiguration, WebhookSource } from './webhook-configuration.ts';

const FORMAT =
  'a format with %i in it that produces DNS-1123 labels: %i, %n and %d, lower-case letters, digits and "-", which is neither first nor last';
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

const strings = z.array(z.string()).nullish();

const name = text.refine((value) => !/^(system|keystone|stonegate):/.test(value), {
  error:
    'a name that does not begin with system:, keystone: or stonegate:, which are reserved; bind the role that is meant to a name of your own',
});

const roleMapping = z
  .strictObject({
    'keystone-role': z.string().nullish(),
    username: z.union([z.literal(''), name]).nullish(),
    groups: z.array(name).nullish(),
  })
  .transform((mapping): RoleMapping[] => {
    const { 'keystone-role': role, username, groups } = mapping;
    return role ? [{ role, groups: groups ?? [], ...(username ? { username } : {}) }] : [];
  });

const sync = z
  .strictObject({
    'data-types-to-sync': z.array(z.enum(['projects', 'role_assignments'])).nullish(),
    'namespace-format': z.string().refine(isFormat, { error: FORMAT }).nullish(),
    'projects-blacklist': strings,
    'projects-name-blacklist': strings,
    'role-mappings': z.array(roleMapping).nullish(),
  })
  .transform((fields): KeystoneSync => {
    const types = fields['data-types-to-sync'] ?? [];
    return {
      projects: types.includes('projects'),
      roleAssignments: types.includes('role_assignments'),
      namespaceFormat: fields['namespace-format'] ?? '%i',
      ignoredProjects: new Set(fields['projects-blacklist']),
      ignoredProjectNames: new Set(fields['projects-name-blacklist']),
      roleMappings: (fields['role-mappings'] ?? []).flat(),
    };
  });

export function readSync(content: string): ParseResult<KeystoneSync> {
  const document = readYAML(content);
  if (!document.ok) return document;
  return checked(sync, document.data ?? {});
}

function isFormat(format: string): boolean {
  return format.includes('%i') && LABEL.test(format.replaceAll(/%[ind]/g, 'x'));
}

type FileContent = (file: string) => Buffer | undefined;

/** What decides whether rules can be followed. */
export interface SyncSupport {
  readonly readsTenantFromName: boolean;
  /** Whether there is a credential that provisions. */
  readonly provisions: boolean;
}

interface SupportReads {
  readonly bindings: { readonly credential?: object };
  readonly tenancy: TenancyConfiguration;
}

export const syncSupport = ({ bindings, tenancy }: SupportReads) => ({
  readsTenantFromName: tenancy.facts.readsTenantFromName,
  provisions: bindings.credential !== undefined,
});

export function checkWebhookFiles(
  configuration: SupportReads & { readonly webhook?: WebhookConfiguration },
  content: FileContent,
): Finding[] {
  const { policy, sync } = configuration.webhook ?? {};
  const readSync = syncReader(syncSupport(configuration));
  return [
    ...problemsOf(['webhook', 'policy', 'file'], policy, content, readPolicy),
    ...problemsOf(['webhook', 'sync', 'file'], sync, content, readSync),
  ];
}

/** Parses synchronization rules and checks that they are supported. */
export function syncReader(support: SyncSupport): (content: string) => ParseResult<KeystoneSync> {
  return (content) => {
    const read = readSync(content);
    if (!read.ok) return read;
    const problems = unsupported(read.value, support);
    return problems.length === 0 ? read : { ok: false, problems };
  };
}

function unsupported(
  { projects, roleAssignments, roleMappings }: KeystoneSync,
  { readsTenantFromName, provisions }: SyncSupport,
): Problem[] {
  const problems: Problem[] = [];
  if ((projects || roleAssignments) && !provisions) {
    problems.push({
      path: 'data-types-to-sync',
      message: 'needs bindings.credential, with which Stonegate creates namespaces and role bindings',
    });
  }
  if (readsTenantFromName && roleMappings.some(({ username }) => username !== undefined)) {
    problems.push({
      path: 'role-mappings',
      message: 'expected no username: in arktos mode the API server reads the tenant from the name',
    });
  }
  return problems;
}

function problemsOf(
  path: readonly string[],
  source: WebhookSource | undefined,
  content: FileContent,
  read: (content: string) => ParseResult<unknown>,
): Finding[] {
  if (source === undefined || !('file' in source)) return [];
  const found = content(source.file);
  if (found === undefined) return [];
  const result = read(found.toString('utf8'));
  if (result.ok) return [];
  const file = basename(source.file);
  return result.problems.map((problem) => ({
    path,
    message: problem.message,
    elsewhere: { file, ...problem },
  }));
}
