/**
 * The kinds that a quota counts, and the writes of them that the admission webhook is asked about. On Arktos
 * each kind has a URL of its own, since the API server calls one URL at most five times a second.
 */

import {
  type Operation,
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

const core = (resource: string): ResourceKind => ({ group: '', version: 'v1', resource, namespaced: true });

/** Kinds that are counted by more than their number; namespaces are counted besides. */
export const COUNTED_KINDS: readonly ResourceKind[] = [
  core('pods'),
  core('services'),
  core('persistentvolumeclaims'),
];

/** @param count further kinds */
export function countedRules(count: readonly ResourceKind[]): RegisteredRule[] {
  const created: Operation[] = ['CREATE'];
  return [
    registeredRule('', ['pods', 'namespaces'], created),
    registeredRule('', ['pods/resize'], ['UPDATE']),
    registeredRule('', ['services', 'persistentvolumeclaims'], ['CREATE', 'UPDATE']),
    ...count.map(({ group, resource }) => registeredRule(group, [resource], created)),
  ];
}

/** Arktos has no subresource `resize`: updates change what pods request, and virtual machines at any time. */
const POD_UPDATES: ReviewedWrite = {
  name: 'pod-updates.quota.stonegate.dev',
  path: `${QUOTA_PATH}/core/pod-updates`,
  rule: registeredRule('', ['pods'], ['UPDATE']),
  onlyOwn: false,
};

/** Arktos: all writes of a kind are reviewed at one URL, but updates of pods delay no new ones. */
export function countedWrites(count: readonly ResourceKind[]): ReviewedWrite[] {
  const writes = [...COUNTED_KINDS, KINDS.Namespace, ...count].map((kind) => {
    const { group, resource } = kind;
    const operations: Operation[] =
      ['services', 'persistentvolumeclaims'].includes(resource) && group === ''
        ? ['CREATE', 'UPDATE']
        : ['CREATE'];
    return {
      name: `${resourceName(kind)}.quota.stonegate.dev`,
      path: `${QUOTA_PATH}/${group || 'core'}/${resource}`,
      rule: registeredRule(group, [resource], operations),
      onlyOwn: false,
    };
  });
  return [...writes, POD_UPDATES];
}
