/**
 * Plans what publishing changes at the API server. Pure. What no source asks for any more is deleted, if it
 * is a copy; nothing is deleted whose sources could not be read.
 */

import {
  isBindingKind,
  KINDS,
  objectKey,
  type Place,
  type StoredObject,
} from '../../kubernetes/kubernetes-object.ts';
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../../kubernetes/managed-labels.ts';
import { PUBLISHED_FROM, type PublishedKind, resourceName } from '../../kubernetes/published-objects.ts';
import {
  type DeletionRule,
  type Desired,
  type Existing,
  makePlan,
  type Plan,
  titleOf,
} from '../../kubernetes/reconcile/plan.ts';
import type { Copy } from './copy.ts';
import { type DesiredCopies, keyOfCopy } from './desired-copies.ts';
import { sourceOfCopy } from './marks.ts';
import type { Receiver } from './receivers.ts';
import type { SourceRules } from './source.ts';

export interface NamespaceFacts {
  readonly tenant: string;
  readonly name: string;
  readonly isTerminating: boolean;
}

/** Sources or copies that could not be read: copies of them stay as they are. */
export interface UnreadSources {
  readonly kind: PublishedKind;
  /** Absent: everywhere. */
  readonly namespace?: string;
  readonly reason: string;
}

export interface PublishingState {
  readonly desired: DesiredCopies;
  readonly receivers: readonly Receiver[];
  /** The tenants' namespaces (arktos); empty in shared mode. */
  readonly namespaces: readonly NamespaceFacts[];
  /** Every copy, and what else has the name of a desired copy. */
  readonly existing: readonly Existing[];
  readonly unread: readonly UnreadSources[];
}

export interface PublishingRules extends SourceRules {
  /** `publishing.namespaces`. */
  readonly namespaces: readonly string[];
  readonly systemTenant: string;
}

export function planPublishing(state: PublishingState, rules: PublishingRules): Promise<Plan> {
  const { desired, namespaces, unread } = state;
  const { copies } = desired;
  const facts = createSourceFacts(state, rules);
  const existing = new Map(
    state.existing.map((one) => [objectKey(one.kind, one.place, one.object.metadata.name), one]),
  );
  const terminating = new Set(
    namespaces.filter(({ isTerminating }) => isTerminating).map(({ tenant, name }) => `${tenant}/${name}`),
  );
  const isTerminating = ({ place }: Copy) => terminating.has(`${place.tenant}/${place.namespace}`);
  const readable = copies.filter((copy) => !facts.isUnread(copy, existing.get(keyOfCopy(copy))));
  const published = readable.filter((copy) => !isTerminating(copy));
  const wanted = new Set(copies.map(keyOfCopy));
  return makePlan({
    desired: [...newNamespaces(published, namespaces), ...published],
    existing: [...existing].map(([key, one]) => ({
      ...one,
      deletion: wanted.has(key) ? undefined : facts.deletionOf(one),
    })),
    refusals: [
      ...desired.refusals,
      ...readable
        .filter(isTerminating)
        .map((copy) => ({ subject: titleOf(copy), reason: 'the namespace is being deleted' })),
    ],
    unread: unread.map(({ kind, namespace = 'all namespaces', reason }) => ({
      subject: `${resourceName(kind)} in ${namespace}`,
      reason,
    })),
  });
}

/** In shared mode the namespaces are those of projects, and are there. */
function newNamespaces(copies: readonly Copy[], namespaces: readonly NamespaceFacts[]): Desired[] {
  const known = new Set(namespaces.map(({ tenant, name }) => `${tenant}/${name}`));
  return copies.flatMap(({ place: { tenant, namespace } }): Desired[] => {
    const key = `${tenant}/${namespace}`;
    if (tenant === undefined || namespace === undefined || known.has(key)) return [];
    known.add(key);
    const metadata = { name: namespace, labels: { [MANAGED_BY]: STONEGATE } };
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata };
    return [
      {
        kind: KINDS.Namespace,
        place: { tenant },
        object,
        reason: 'for published objects',
        // It does not matter which client has created it.
        compare: (found) => (found === undefined ? { action: 'create', object } : { action: 'none' }),
      },
    ];
  });
}

/** What follows for a copy from the sources that were read, and from those that were not. */
function createSourceFacts({ unread, receivers }: PublishingState, rules: PublishingRules) {
  const { mode, systemTenant, namespaces } = rules;

  function sourceOf({ kind, place: { namespace }, object }: Existing) {
    return sourceOfCopy(kind, object, namespace === undefined ? namespaces : [...namespaces, namespace]);
  }

  /** A binding depends on the roles that are published. */
  function isUnreadSource(kind: PublishedKind, namespace: string | undefined): boolean {
    const names = [kind.resource, ...(isBindingKind(kind) ? ['roles', 'clusterroles'] : [])].map((resource) =>
      resourceName({ ...kind, resource }),
    );
    return unread.some(
      (one) =>
        names.includes(resourceName(one.kind)) &&
        (one.namespace === undefined || one.namespace === namespace),
    );
  }

  /** A source may have been made of a copy, with its labels: it is no copy where sources are. */
  function isOfSources({ tenant, namespace }: Place, of: string | undefined): boolean {
    if (mode === 'arktos') return tenant === undefined || tenant === systemTenant;
    return namespace === undefined || namespace === of || namespaces.includes(namespace);
  }

  return {
    /** Whether its source, or that of the copy that is there and may come first, could not be read. */
    isUnread({ source }: Copy, existing: Existing | undefined): boolean {
      if (unread.length === 0) return false;
      if (isUnreadSource(source.kind, source.namespace)) return true;
      const other = existing && sourceOf(existing);
      return other !== undefined && isUnreadSource(source.kind, other.namespace);
    },
    /** @returns undefined unless it is a copy for which there is no source any more */
    deletionOf(existing: Existing): DeletionRule | undefined {
      const { kind, place, object } = existing;
      const source = sourceOf(existing);
      if (source === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
      if (isOfSources(place, source.namespace) || isUnreadSource(kind, source.namespace)) return undefined;
      if (receivers.some((receiver) => receiver.isTerminating && isWithin(place, receiver.place)))
        return undefined;
      return {
        reason: 'no source asks for it any more',
        isOwned: (current) => hasManagedLabel(current.metadata) && markOf(current) === markOf(object),
      };
    },
  };
}

function markOf({ metadata }: StoredObject): string | undefined {
  return metadata.labels?.[PUBLISHED_FROM];
}

function isWithin(place: Place, { tenant, namespace }: Place): boolean {
  return place.tenant === tenant && (namespace === undefined || place.namespace === namespace);
}
