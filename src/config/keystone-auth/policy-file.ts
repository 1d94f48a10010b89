/**
 * Reads a policy of k8s-keystone-auth. What it would have passed over at request time, or fallen over, is a problem here,
 * with its place: a key nobody reads may be a restriction that somebody mistyped.
 */
import { z } from 'zod';
import type { KeystonePolicy, PolicyEntry, ResourcePermission } from '../../api/keystone-auth.ts';
import { readJSON } from '../json-document.ts';
import { formatPath, formatProblem, problemsOfIssue } from '../problem.ts';
import { readResourceKey } from './resource-key.ts';

/** `problems`: each with its place in the document. */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

const strings = z.array(z.string());
const names = strings.nullish().transform((list) => new Set(list ?? []));
/** Verbs are lower case in every request. */
const verbs = strings.nullish().transform((list) => new Set((list ?? []).map((verb) => verb.toLowerCase())));

const users = z
  .strictObject({ roles: strings.nullish(), projects: strings.nullish(), domains: strings.nullish() })
  .transform(({ roles, projects, domains }) => ({
    roles: roles ?? [],
    projects: projects ?? [],
    ...(domains ? { domains } : {}),
  }));

const match = z.strictObject({ type: z.string(), values: names });

const resource = z
  .strictObject({ verbs, resources: names, version: z.string(), namespace: z.string() })
  .transform(({ version, ...rest }) => ({ ...rest, apiGroup: version }));

const nonresource = z
  .strictObject({ verbs, path: z.string().nullish() })
  .transform(({ path, verbs }) => ({ verbs, ...(typeof path === 'string' ? { path } : {}) }));

const resourcePermissions = z.record(z.string(), verbs).transform((permissions, context) => {
  const seen = new Set<string>();
  return Object.entries(permissions).flatMap(([key, allowed]): ResourcePermission[] => {
    const read = readResourceKey(key);
    // Requests are matched with it in lower case.
    const isRepeated = seen.has(key.toLowerCase());
    seen.add(key.toLowerCase());
    if (!('problem' in read) && !isRepeated) return [{ ...read, verbs: allowed }];
    const message = 'problem' in read ? read.problem : 'a key that is not written twice, in whichever case';
    context.addIssue({ code: 'custom', message, path: [key], input: key });
    return [];
  });
});

const entry = z
  .strictObject({
    users: users.nullish(),
    match: z.array(match).nullish(),
    resource: resource.nullish(),
    nonresource: nonresource.nullish(),
    resource_permissions: resourcePermissions.nullish(),
    nonresource_permissions: z.record(z.string(), verbs).nullish(),
  })
  .transform(
    ({ users, match, resource, nonresource, ...permissions }): PolicyEntry => ({
      match: match ?? [],
      ...(users ? { users } : {}),
      ...(resource ? { resource } : {}),
      ...(nonresource ? { nonresource } : {}),
      ...(permissions.resource_permissions ? { resourcePermissions: permissions.resource_permissions } : {}),
      ...(permissions.nonresource_permissions
        ? { nonResourcePermissions: new Map(Object.entries(permissions.nonresource_permissions)) }
        : {}),
    }),
  );

export function readPolicy(content: string): Read<KeystonePolicy> {
  const document = readJSON(content);
  if (!document.ok) return document;
  return checked(z.array(entry), document.data);
}

/** @returns every problem of it, with its place */
export function checked<T>(schema: z.ZodType<T>, document: unknown): Read<T> {
  const result = schema.safeParse(document, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const findings = result.error.issues.flatMap(problemsOfIssue);
  return {
    ok: false,
    problems: findings.map(({ path, message }) =>
      path.length === 0 ? message : formatProblem({ path: formatPath(path), message }),
    ),
  };
}
