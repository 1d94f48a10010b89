/**
 * Rules about `access` and `authorization`: everything else in them needs the index, and named sets have
 * names of their own.
 */

import { filteringMode, isRBACAlone } from '../api/authorization-mode.ts';
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { INDEX_BYTES } from '../api/memory-bounds.ts';
import type { Finding, Path } from './problem.ts';
import { DEFAULT_MAX_NAMESPACES, DEFAULT_SELF_REVIEWS, DEFAULT_VERIFY_ONE_IN } from './schema-access.ts';

export function validateAccess(configuration: StonegateConfiguration): Finding[] {
  return [
    ...needsIndex(configuration),
    ...validateAuthorizers(configuration),
    ...validateHiding(configuration),
    ...uniqueNames(configuration),
  ];
}

/** A field that differs from its default would be ignored without the index. */
function needsIndex({ access, authorization }: StonegateConfiguration): Finding[] {
  if (access.index) return [];
  const { maxIndexBytes, authorizers, verifyOneIn, selfReviews, maxNamespaces, namedSets } = access;
  const fields: readonly (readonly [path: Path, isSet: boolean])[] = [
    [['access', 'maxIndexBytes'], maxIndexBytes !== INDEX_BYTES],
    [['access', 'authorizers'], authorizers.length > 0],
    [['access', 'othersNeverDeny'], access.othersNeverDeny],
    [['access', 'verifyOneIn'], verifyOneIn !== DEFAULT_VERIFY_ONE_IN],
    [['access', 'selfReviews'], selfReviews !== DEFAULT_SELF_REVIEWS],
    [['access', 'maxNamespaces', 'list'], maxNamespaces.list !== DEFAULT_MAX_NAMESPACES.list],
    [['access', 'maxNamespaces', 'watch'], maxNamespaces.watch !== DEFAULT_MAX_NAMESPACES.watch],
    [['access', 'namedSets'], namedSets.length > 0],
    [['authorization', 'hideForbidden'], authorization.hideForbidden],
  ];
  return fields
    .filter(([, isSet]) => isSet)
    .map(([path]) => ({
      path,
      message: 'has no effect without the index: expected access.index to be true',
    }));
}

function validateAuthorizers({ access: { authorizers } }: StonegateConfiguration): Finding[] {
  const path = ['access', 'authorizers'];
  if (new Set(authorizers).size < authorizers.length) return [{ path, message: 'expected each mode once' }];
  if (authorizers.length > 0 && !authorizers.includes('RBAC'))
    return [{ path, message: 'expected RBAC among them: the index knows nothing but RBAC' }];
  return [];
}

/** The index cannot tell that a user may not read an object if another authorizer may allow it. */
/** What the index is not used for, since it is not known who decides. */
export function accessWarnings({
  access,
}: {
  readonly access: Pick<StonegateConfiguration['access'], 'index' | 'authorizers' | 'othersNeverDeny'>;
}): string[] {
  if (!access.index || filteringMode(access) !== 'off') return [];
  return [
    'access.authorizers: lists of namespaces, and of all namespaces, are not filtered: state [Node, RBAC] if they are all that the API server has, or access.othersNeverDeny',
  ];
}

function validateHiding({ access, authorization }: StonegateConfiguration): Finding[] {
  if (!access.index || !authorization.hideForbidden || isRBACAlone(access.authorizers)) return [];
  return [
    {
      path: ['authorization', 'hideForbidden'],
      message:
        'expected access.authorizers to state [Node, RBAC]: the index does not know what another authorizer lets a user read',
    },
  ];
}

function uniqueNames({ access: { namedSets } }: StonegateConfiguration): Finding[] {
  return namedSets.flatMap(({ name }, at) =>
    namedSets.findIndex((other) => other.name === name) < at
      ? [{ path: ['access', 'namedSets', at, 'name'], message: `expected another name: ${name} is taken` }]
      : [],
  );
}
