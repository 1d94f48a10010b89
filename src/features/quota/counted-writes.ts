/**
 * The kinds that a quota counts, and the writes of them that the admission webhook is asked about. On Arktos
 * each kind has a URL of its own, since the API server calls one URL at most five times a second.
 */

import {
  type RegisteredRule,
  type ReviewedWrite,
  registeredRule,
} from '../../kubernetes/admissionregistration-v1.ts';
import { KINDS, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { resourceName } from '../../kubernetes/published-objects.ts';

export const QUOTA_PATH = '/quota';
const PATH = /^\/quota(?:\/[a-z0-9.-]+){0,2}$/;

/** Whether quota reviews are posted to the path. */
export function isQuotaPath(path: string): boolean {
  return PATH.test(path);
}

/** Kinds that are counted by more than their number; namespaces are counted besides. */
export const COUNTED_KINDS = ['pods', 'services', 'persistentvolumeclaims'].map(
  (resource): ResourceKind => ({ group: '', version: 'v1', resource, namespaced: true }),
);

/** Kinds of which an update may ask for more too. */
const GROWING = ['services', 'persistentvolumeclaims'];

/** Arktos has no subresource `resize`: updates change what pods request, and virtual machines at any time. */
const POD_UPDATES: ReviewedWrite = {
  name: 'pod-updates.quota.stonegate.dev',
  path: `${QUOTA_PATH}/core/pod-updates`,
  rule: registeredRule('', ['pods'], ['UPDATE']),
  onlyOwn: false,
};

function writesOf(count: readonly ResourceKind[]): ReviewedWrite[] {
  return [...COUNTED_KINDS, KINDS.Namespace, ...count].map((kind) => {
    const { group, resource } = kind;
    const grows = group === '' && GROWING.includes(resource);
    return {
      name: `${resourceName(kind)}.quota.stonegate.dev`,
      path: `${QUOTA_PATH}/${group || 'core'}/${resource}`,
      rule: registeredRule(group, [resource], grows ? ['CREATE', 'UPDATE'] : ['CREATE']),
      onlyOwn: false,
    };
  });
}

/**
 * Arktos: all writes of a kind are reviewed at one URL, but updates of pods delay no new ones.
 *
 * @param count further kinds
 */
export function countedWrites(count: readonly ResourceKind[]): ReviewedWrite[] {
  return [...writesOf(count), POD_UPDATES];
}

/** Shared mode: all of them are reviewed at one URL, and of pods only the subresource that resizes them. */
export function countedRules(count: readonly ResourceKind[]): RegisteredRule[] {
  const resize = registeredRule('', ['pods/resize'], ['UPDATE']);
  return [...writesOf(count).map(({ rule }) => rule), resize];
}
