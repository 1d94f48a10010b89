/**
 * Parses a policy file of k8s-keystone-auth. Content that k8s-keystone-auth would ignore or fail on at
 * request time is a problem here: an unknown key may be a mistyped restriction.
 */
import { z } from 'zod';
import { formatPath, type Problem, problemsOfIssue } from '../../config/problem.ts';
import { jsonMistake } from '../../lib/json-mistake.ts';
import { readJSON } from '../../lib/json-object.ts';
import { parseStrictJSON } from '../../lib/strict-json.ts';

/** A set of namespaces or resources; `*` in a list stands for all names. */
export type NamePattern =
  | { readonly kind: 'every' }
  | { readonly kind: 'only'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'except'; readonly names: ReadonlySet<string> };

export interface ResourcePermission {
  readonly namespaces: NamePattern;
  readonly resources: NamePattern;
  readonly verbs: ReadonlySet<string>;
}

export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const strings = z.array(z.string());
const names = strings.nullish().transform((list) => new Set(list ?? []));
/** Verbs are lower case in every request. */
const verbs = strings.nullish().transform((list) => new Set((list ?? []).map((verb) => verb.toLowerCase())));

/** All of the roles, any of the projects, and any of the domains if there are some; by name or id. */
const users = z
  .strictObject({ roles: strings.nullish(), projects: strings.nullish(), domains: strings.nullish() })
  .transform(({ roles, projects, domains }) => ({
    roles: roles ?? [],
    // An empty list matches no user.
    projects: projects ?? [],
    domains: domains ?? undefined,
  }));

/** One of the conditions of version 1, all of which must hold; any of its values satisfies it. */
const match = z.strictObject({ type: z.string(), values: names });

/** `version` is the API group. `*` stands for all, as a namespace for resources without one too. */
const resource = z
  .strictObject({ verbs, resources: names, version: z.string(), namespace: z.string() })
  .transform(({ version, ...rest }) => ({ ...rest, apiGroup: version }));

const nonresource = z
  .strictObject({ verbs, path: z.string().nullish() })
  .transform(({ path, verbs }) => ({ verbs, path: path ?? undefined }));

const resourcePermissions = z.record(z.string(), verbs).transform((permissions, context) => {
  const seen = new Set<string>();
  return Object.entries(permissions).flatMap(([key, allowed]): ResourcePermission[] => {
    const read = readResourceKey(key);
    // Requests are compared in lower case.
    const isRepeated = seen.has(key.toLowerCase());
    seen.add(key.toLowerCase());
    if (read !== undefined && !isRepeated) return [{ ...read, verbs: allowed }];
    const message = read === undefined ? RESOURCE_KEY : 'a key that is not written twice, in whichever case';
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
  .transform(({ users, match, resource, nonresource, ...permissions }) => ({
    /** Without it: every user whose token Keystone has validated. */
    users: users ?? undefined,
    /** Restricts `resource` and `nonresource` only. */
    match: match ?? [],
    resource: resource ?? undefined,
    nonresource: nonresource ?? undefined,
    /** If present, `resource` is ignored. */
    resourcePermissions: permissions.resource_permissions ?? undefined,
    /** Path → verbs. If present, `nonresource` is ignored. */
    nonResourcePermissions: permissions.nonresource_permissions
      ? new Map(Object.entries(permissions.nonresource_permissions))
      : undefined,
  }));

export type PolicyEntry = z.output<typeof entry>;
/**
 * Version 1 uses the `resource` and `nonresource` of an entry, version 2 its permissions. Any entry may
 * allow, none denies.
 */
export type KeystonePolicy = readonly PolicyEntry[];

/** A policy of thousands of entries has less. */
const LIMITS = { depth: 16, nodes: 1_000_000 };

export function readPolicy(content: string): ParseResult<KeystonePolicy> {
  try {
    return checked(z.array(entry), parseStrictJSON(Buffer.from(content), LIMITS));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const message = `is no usable JSON: ${error.message}`;
    return { ok: false, problems: [{ path: '', message, ...jsonMistake(content) }] };
  }
}

/** @returns the value, or every problem with its path */
export function checked<T>(schema: z.ZodType<T>, document: unknown): ParseResult<T> {
  const result = schema.safeParse(document, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const findings = result.error.issues.flatMap(problemsOfIssue);
  return {
    ok: false,
    problems: findings.map(({ path, message }) => ({ path: formatPath(path), message })),
  };
}

const NAMESPACE = /^(\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)$/;
const RESOURCE = /^(\*|[a-z0-9][a-z0-9.-]*(\/(\*|[a-z0-9][a-z0-9.-]*))?)$/;
const RESOURCE_KEY =
  "NAMESPACE/RESOURCE, each a name, *, !name, ['a','b'] or !['a','b']; a subresource as in default/pods/exec";

/** @returns undefined if the text is no key of `resource_permissions` */
function readResourceKey(key: string): Omit<ResourcePermission, 'verbs'> | undefined {
  const [namespace = '', ...resource] = key.split('/');
  const namespaces = readPattern(namespace, NAMESPACE);
  const resources = readPattern(resource.join('/'), RESOURCE);
  return namespaces && resources && { namespaces, resources };
}

/** @returns undefined if the text is not a pattern */
function readPattern(text: string, name: RegExp): NamePattern | undefined {
  const definition = text.trim().toLowerCase();
  if (definition === '*') return { kind: 'every' };
  const kind = definition.startsWith('!') ? 'except' : 'only';
  const rest = kind === 'except' ? definition.slice(1).trim() : definition;
  const names = rest.startsWith('[') ? readList(rest) : [rest];
  if (names === undefined || !names.every((each) => name.test(each))) return undefined;
  return { kind, names: new Set(names) };
}

/** A JSON list with single quotes. */
function readList(text: string): readonly string[] | undefined {
  const list = readJSON(text.replaceAll("'", '"'));
  return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : undefined;
}
