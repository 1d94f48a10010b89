/**
 * Computes what publishing changes at the API server. Pure, and the same for the same input: what no source
 * asks for any more is deleted, if it is a copy; nothing is deleted whose sources could not be read.
 */
import { MANAGED_BY, STONEGATE } from '../api/managed-labels.ts';
import { type PublishedKind, resourceName } from '../api/published-objects.ts';
import { forEachInTurns } from '../lib/in-turns.ts';
import { type Comparison, type Copy, compareCopy } from './copy.ts';
import {
  copyKey,
  type DesiredCopies,
  keyOfCopy,
  PER_TURN,
  type PublishingRefusal,
  placeName,
  roleKey,
} from './desired-copies.ts';
import { sourceOfCopy } from './marks.ts';
import type { Place, PublishedObject } from './ports.ts';
import type { Receiver } from './receivers.ts';
import type { SourceRules } from './source.ts';

export interface ExistingObject {
  readonly kind: PublishedKind;
  readonly place: Place;
  /** Nothing but what identifies it: the objects of all tenants may take much memory. */
  readonly object: PublishedObject;
  /** With the desired copy of that name, if there is one. */
  readonly found?: Comparison;
}

export interface NamespaceFacts {
  readonly tenant: string;
  readonly name: string;
  readonly isTerminating: boolean;
}

/** What could not be read: copies from there stay as they are. */
export interface UnreadSources {
  readonly kind: PublishedKind;
  /** Absent: everywhere. */
  readonly namespace?: string;
  readonly reason: string;
}

export interface PublishingState {
  readonly desired: DesiredCopies;
  readonly receivers: readonly Receiver[];
  /** Of the tenants (arktos); empty in shared mode. */
  readonly namespaces: readonly NamespaceFacts[];
  /** Every copy, and what else has the name of a desired copy. */
  readonly existing: readonly ExistingObject[];
  readonly unread: readonly UnreadSources[];
}

export interface PublishingRules extends SourceRules {
  /** `publishing.namespaces`. */
  readonly namespaces: readonly string[];
  readonly systemTenant: string;
}

export interface PublishingChange {
  readonly action: 'create' | 'update' | 'replace' | 'delete';
  readonly kind: PublishedKind;
  readonly place: Place;
  /** As it is to be written; for `delete` the existing one. */
  readonly object: PublishedObject;
  /** What `replace` deletes. */
  readonly existing?: PublishedObject;
  /** Absent for a namespace, and if it is deleted. */
  readonly copy?: Copy;
  /** For the operator. */
  readonly reason: string;
}

export interface PublishingConflict {
  readonly source: string;
  readonly place: Place;
  readonly reason: string;
}

export interface PublishingPlan {
  /** In the order of execution within a place: namespace, roles, bindings; deletions last. */
  readonly changes: readonly PublishingChange[];
  readonly conflicts: readonly PublishingConflict[];
  readonly refusals: readonly PublishingRefusal[];
  /** Copies that are as they should be. */
  readonly unchanged: number;
}

export const NAMESPACES: PublishedKind = {
  group: '',
  version: 'v1',
  resource: 'namespaces',
  namespaced: false,
};

export const TENANTS: PublishedKind = { group: '', version: 'v1', resource: 'tenants', namespaced: false };

export function planPublishing(state: PublishingState, rules: PublishingRules): Promise<PublishingPlan> {
  return new Planner(state, rules).plan(state.desired);
}

class Planner {
  readonly #state: PublishingState;
  readonly #rules: PublishingRules;
  readonly #existing: ReadonlyMap<string, ExistingObject>;
  readonly #namespaces: ReadonlyMap<string, NamespaceFacts>;
  readonly #changes: PublishingChange[] = [];
  readonly #conflicts: PublishingConflict[] = [];
  readonly #newNamespaces = new Set<string>();
  /** Keys of desired copies that cannot be there: no binding may name such a role. */
  readonly #blocked = new Set<string>();
  #unchanged = 0;

  constructor(state: PublishingState, rules: PublishingRules) {
    this.#state = state;
    this.#rules = rules;
    this.#existing = new Map(
      state.existing.map((one) => [copyKey(one.kind, one.place, one.object.metadata.name), one]),
    );
    this.#namespaces = new Map(state.namespaces.map((one) => [`${one.tenant}/${one.name}`, one]));
  }

  async plan({ copies, refusals }: DesiredCopies): Promise<PublishingPlan> {
    const wanted = new Set(copies.map(keyOfCopy));
    await forEachInTurns(inOrder(copies), PER_TURN, (copy) => this.#compare(copy));
    const stale = this.#state.existing.filter(
      (one) => !wanted.has(copyKey(one.kind, one.place, one.object.metadata.name)) && this.#isStale(one),
    );
    // Bindings before the roles that they name.
    for (const one of stale.filter(({ kind }) => isBinding(kind))) this.#delete(one);
    for (const one of stale.filter(({ kind }) => !isBinding(kind))) this.#delete(one);
    return {
      changes: this.#changes,
      conflicts: this.#conflicts,
      refusals: distinct(refusals),
      unchanged: this.#unchanged,
    };
  }

  #compare(copy: Copy): void {
    const { source, place } = copy;
    const existing = this.#existing.get(keyOfCopy(copy));
    if (
      this.#isUnread(source.kind, source.namespace) ||
      this.#isOfUnread(source.kind, place, existing?.object)
    )
      return;
    const problem = this.#placeProblem(copy);
    const found =
      problem === undefined
        ? (existing?.found ?? compareCopy(copy, existing?.object))
        : { conflict: problem };
    if ('conflict' in found) this.#block(copy, found.conflict);
    else if (found.action === 'none') this.#unchanged += 1;
    else {
      this.#createNamespace(place);
      this.#changes.push({ ...found, kind: source.kind, place, copy, reason: source.title });
    }
  }

  /** Whether it is the copy of a source that could not be read, and that may come first. */
  #isOfUnread(kind: PublishedKind, place: Place, existing: PublishedObject | undefined): boolean {
    if (existing === undefined || this.#state.unread.length === 0) return false;
    const source = this.#sourceOf(kind, place, existing);
    return source !== undefined && this.#isUnread(kind, source.namespace);
  }

  #sourceOf(kind: PublishedKind, { namespace }: Place, object: PublishedObject) {
    const known = this.#rules.namespaces;
    return sourceOfCopy(kind, object, namespace === undefined ? known : [...known, namespace]);
  }

  #block(copy: Copy, reason: string): void {
    this.#blocked.add(keyOfCopy(copy));
    this.#conflicts.push({ source: copy.source.title, place: copy.place, reason });
  }

  #placeProblem({ source, place }: Copy): string | undefined {
    const { tenant, namespace } = place;
    if (tenant !== undefined && namespace !== undefined) {
      const existing = this.#namespaces.get(`${tenant}/${namespace}`);
      if (existing?.isTerminating === true) return 'the namespace is being deleted';
    }
    const role = roleKey(source, place);
    if (role !== undefined && this.#blocked.has(role)) return "its role is not there, or is the tenant's own";
    return undefined;
  }

  /** In shared mode the namespaces are those of projects, and are there. */
  #createNamespace({ tenant, namespace }: Place): void {
    if (tenant === undefined || namespace === undefined) return;
    const key = `${tenant}/${namespace}`;
    if (this.#namespaces.has(key) || this.#newNamespaces.has(key)) return;
    this.#newNamespaces.add(key);
    const metadata = { name: namespace, labels: { [MANAGED_BY]: STONEGATE } };
    this.#changes.push({
      action: 'create',
      kind: NAMESPACES,
      place: { tenant },
      object: { apiVersion: 'v1', kind: 'Namespace', metadata },
      reason: 'for published objects',
    });
  }

  /** Whether it is a copy for which there is no source any more. */
  #isStale({ kind, place, object }: ExistingObject): boolean {
    const source = this.#sourceOf(kind, place, object);
    if (source === undefined || object.metadata.deletionTimestamp !== undefined) return false;
    if (this.#isOfSources(place, source.namespace)) return false;
    if (this.#isUnread(kind, source.namespace)) return false;
    return !this.#state.receivers.some(
      (receiver) => receiver.isTerminating && isWithin(place, receiver.place),
    );
  }

  /** A source may have been made of a copy, with its labels: it is no copy where sources are. */
  #isOfSources({ tenant, namespace }: Place, of: string | undefined): boolean {
    const { mode, systemTenant, namespaces } = this.#rules;
    if (mode === 'arktos') return tenant === undefined || tenant === systemTenant;
    return namespace === undefined || namespace === of || namespaces.includes(namespace);
  }

  #delete({ kind, place, object }: ExistingObject): void {
    this.#changes.push({ action: 'delete', kind, place, object, reason: 'no source asks for it any more' });
  }

  /** A binding depends on the roles that are published. */
  #isUnread(kind: PublishedKind, namespace: string | undefined): boolean {
    const names = [kind.resource, ...(isBinding(kind) ? ['roles', 'clusterroles'] : [])].map((resource) =>
      resourceName({ ...kind, resource }),
    );
    return this.#state.unread.some(
      (one) =>
        names.includes(resourceName(one.kind)) &&
        (one.namespace === undefined || one.namespace === namespace),
    );
  }
}

function isBinding({ group, resource }: PublishedKind): boolean {
  return group === 'rbac.authorization.k8s.io' && resource.endsWith('bindings');
}

function isWithin(place: Place, { tenant, namespace }: Place): boolean {
  return place.tenant === tenant && (namespace === undefined || place.namespace === namespace);
}

/** Roles before the bindings that name them; otherwise by key. */
function inOrder(copies: readonly Copy[]): readonly Copy[] {
  const ranked = copies.map((copy) => ({
    copy,
    key: keyOfCopy(copy),
    rank: isBinding(copy.source.kind) ? 1 : 0,
  }));
  ranked.sort((one, other) => one.rank - other.rank || (one.key < other.key ? -1 : 1));
  return ranked.map(({ copy }) => copy);
}

function distinct(refusals: readonly PublishingRefusal[]): PublishingRefusal[] {
  return [...new Map(refusals.map((one) => [`${one.source} ${one.reason}`, one])).values()];
}

/** For messages and the log. */
export function changeTitle({ action, kind, place, object }: PublishingChange): string {
  const where = placeName(place);
  return `${action} ${resourceName(kind)} ${where === '' ? '' : `${where}/`}${object.metadata.name}`;
}
