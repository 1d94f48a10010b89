/**
 * What the patterns of an ABAC line select of what policies may grant. A resource is matched by its full name
 * alone, `pods` does not include `pods/exec`; `*` leaves out what would give more than the objects
 * themselves.
 */

import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { GrantableRule } from '../../rbac/grantable-rules.ts';

export interface AbacPattern {
  /** Empty for the core group; `*` for all. */
  readonly apiGroup: string;
  /** `pods`, `pods/log` or `*`. */
  readonly resource: string;
  readonly readonly: boolean;
}

const EVERY = '*';
const RBAC = 'rbac.authorization.k8s.io';

const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const ALL_VERBS: ReadonlySet<string> = new Set([
  ...READ_VERBS,
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);

/** What a GET of them opens is not limited to reading. */
const CONNECTION = /\/(?:exec|attach|portforward|proxy)$/;
/** Credentials, and a way into a running pod, in every API group. */
const NAMED_ONLY = /^secrets(?:\/|$)|\/token$|\/ephemeralcontainers$/;

/** @returns the problem of a pattern that contradicts itself; undefined if there is none */
export function patternProblem({ resource, readonly }: AbacPattern): string | undefined {
  return readonly && CONNECTION.test(resource)
    ? `expected false: a GET of ${resource} opens a connection, on which nothing is read-only`
    : undefined;
}

/** @returns concrete rules, each contained in one of `grantable`; empty if the pattern selects nothing */
export function rulesOfPattern(
  { apiGroup, resource, readonly }: AbacPattern,
  grantable: readonly GrantableRule[],
): PolicyRule[] {
  const wanted = readonly ? READ_VERBS : ALL_VERBS;
  return grantable.flatMap((rule): PolicyRule[] => {
    const [group] = rule.apiGroups;
    if (apiGroup !== EVERY && apiGroup !== group) return [];
    const resources = rule.resources.filter((full) =>
      resource === EVERY ? isInEvery(group, full) : resource === full,
    );
    const verbs = rule.verbs.filter((verb) => wanted.has(verb));
    return resources.length === 0 || verbs.length === 0 ? [] : [{ ...rule, resources, verbs }];
  });
}

function isInEvery(group: string, full: string): boolean {
  return group !== RBAC && !CONNECTION.test(full) && !NAMED_ONLY.test(full);
}
