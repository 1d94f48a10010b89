/**
 * Reads a synchronisation file of k8s-keystone-auth. The namespace format must be one that makes names Kubernetes takes:
 * upper case, `_` and `.` would be found out by whoever logs in first. Names that the cluster keeps for itself are never
 * mapped to, however they are written down.
 */
import { z } from 'zod';
import type { KeystoneSync, RoleMapping } from '../../api/keystone-auth.ts';
import { text } from '../fields.ts';
import { formatProblem } from '../problem.ts';
import { readYAML } from '../yaml-document.ts';
import { checked, type Read } from './policy-file.ts';

const FORMAT =
  'a format with %i in it that makes DNS-1123 labels: %i, %n and %d, lower-case letters, digits and "-", which stands neither first nor last';
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

export function readSync(content: string): Read<KeystoneSync> {
  const document = readYAML(content);
  if (!document.ok) return { ok: false, problems: document.problems.map(formatProblem) };
  return checked(sync, document.data ?? {});
}

function isFormat(format: string): boolean {
  return format.includes('%i') && LABEL.test(format.replaceAll(/%[ind]/g, 'x'));
}
