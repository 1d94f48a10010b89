/**
 * The members of a namespace for one user: what the user may see of them, and changes with the user's
 * rights. Stonegate's own API and the portal use it.
 */

import { StatusError } from '../../errors/status-error.ts';
import { ownerKey } from '../../identity/owners.ts';
import { hasManagedLabel } from '../../kubernetes/managed-labels.ts';
import { waitUntil } from '../../lib/clock.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { IdentityRequests, RequestOrigin } from '../../proxy/as-identity.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import { ownObjectNotFound } from '../../proxy/response/own-objects.ts';
import { SubjectFilter, viewerOf } from '../../proxy/subject-owner.ts';
import { subjectIn } from '../../rbac/attributes.ts';
import { isAllowedIn, namespacesAllowed, visibleNamespaces } from '../../rbac/enumerate.ts';
import { userKey } from '../../rbac/subject-key.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { qualified } from '../../tenancy/user-name.ts';
import { knownScopes } from '../known-scopes.ts';
import type { TeamDirectory } from '../teams/feature.ts';
import type { KeystoneNames } from '../who-can/feature.ts';
import { type BindingWriter, readBinding, removeSubject } from './change-members.ts';
import { giveRole, type RoleGivingOptions } from './give-role.ts';
import { FORCE_FIELD, MEMBERS, type Member, type MemberSpec } from './member-v1alpha1.ts';
import {
  type FoundMember,
  isLastManager,
  keyNamed,
  type MemberGrant,
  type MembersPlace,
  managesBy,
  memberID,
  memberOf,
  membersIn,
  newGrant,
} from './members.ts';
import { noteOn, shownMember } from './shown-member.ts';

export interface MembersOptions extends RoleGivingOptions {
  readonly mode: Pick<TenancyMode, 'facts' | 'tenantOf' | 'reviewTenant' | 'isSystem' | 'memberName'>;
  readonly requests: IdentityRequests;
  readonly teams: TeamDirectory;
  /** Undefined if Keystone's names of projects and domains are not known. */
  readonly keystone: Pick<KeystoneNames, 'scopes'> | undefined;
}

/** How a change of members is made. */
export interface ChangeOptions {
  readonly origin: RequestOrigin;
  readonly signal: AbortSignal;
  readonly dryRun?: boolean;
  /** Whether the last one who may manage may lose that. */
  readonly force?: boolean;
}

/** A result with notes for the user. A note is a sentence without a full stop. */
export interface WithNotes<T> {
  readonly result: T;
  readonly notes: readonly string[];
}

export type MembersService = ReturnType<typeof createMembersService>;

/** How many bindings of one member are read at a time. */
const READS = 8;
/** Changes of one user, or of one namespace, that may wait, and of all. */
const WAITING = { queuePerKey: 32, queue: 1_024 };
/** Milliseconds for which the next change waits until the index has this one. */
const INDEX_WAIT = 1_000;

/**
 * Every function throws AccessIndexUnavailable, and NotFound for a namespace that the user may not get, as
 * for one that does not exist. Changes also throw what the API server refuses, ImpersonationForbidden for
 * a reserved name, and Conflict for the last one who may manage, or if nothing can be removed here.
 */
export function createMembersService(options: MembersOptions) {
  /** Otherwise the last two who may manage a namespace could remove each other: the index would show both. */
  const turns = new KeyedSemaphore({
    ...{ ...WAITING, clock: options.clock, permits: Number.POSITIVE_INFINITY, permitsPerKey: 1 },
    refusal: tooManyChanges,
  });

  async function inTurnOf<T>(
    key: readonly string[],
    { signal }: ChangeOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const turn = turns.of(JSON.stringify(key));
    if (!(await turn.acquire(signal))) throw tooManyChanges();
    try {
      return await work();
    } finally {
      turn.release();
    }
  }

  /** One change of each user waits for the namespace, so that many of one user refuse no other's. */
  function inTurn<T>(
    identity: Identity,
    namespace: string,
    how: ChangeOptions,
    change: (entered: Awaited<ReturnType<typeof enter>>) => Promise<T>,
  ): Promise<T> {
    const { mode } = options;
    const tenant = mode.tenantOf(identity);
    const place = [mode.reviewTenant(tenant) ?? '', namespace];
    return inTurnOf([...place, ownerKey(qualified(identity, mode.facts), tenant)], how, () =>
      inTurnOf(place, how, async () => change(await enter(identity, namespace))),
    );
  }

  async function enter(identity: Identity, namespace: string) {
    const view = await viewAs(identity, namespace, options);
    const { user, objects, filter, tenant } = view;
    const visible = visibleNamespaces(user.tenant);
    const isVisible = isAllowedIn(options.access.index, user, visible, namespace, 'visible');
    if (!isVisible || !objects.namespaces.has(namespace))
      throw ownObjectNotFound(namespace, { name: 'namespaces', apiVersion: 'v1' });
    const namesHaveTenant = options.mode.facts.readsTenantFromName && !filter.viewer.isSystem;
    const place: MembersPlace = { namespace, tenant, namesHaveTenant, teams: options.teams };
    const all = membersIn(objects, place);
    const shown = all.filter(({ key, grants }) =>
      grants.some(({ binding }) => filter.shows({ key, binding })),
    );
    return { ...view, identity, place, all, shown };
  }

  function writerOf(
    identity: Identity,
    namespace: string,
    { origin, signal, dryRun = false }: ChangeOptions,
  ): BindingWriter {
    const send: BindingWriter['send'] = (request) =>
      options.requests.send(identity, { ...request, origin }, signal);
    return { namespace, dryRun, send };
  }

  /** @param replaces whether the role replaces those of the RoleBindings that name the member */
  async function write(
    { identity, tenant, user, place, objects, all, filter }: Awaited<ReturnType<typeof enter>>,
    member: FoundMember,
    role: string | undefined,
    replaces: boolean,
    change: ChangeOptions,
  ): Promise<WithNotes<Member>> {
    const { namespace } = place;
    const { dryRun = false, force = false, signal } = change;
    const writer = writerOf(identity, namespace, change);
    const given = role === undefined ? [] : [newGrant(member, role, place, objects)];
    const others = member.grants.filter(({ binding }) => binding.name !== given[0]?.binding.name);
    const replaced = others.filter(
      ({ binding, team }) => replaces && team === undefined && binding.namespace === namespace,
    );
    const { removable, managed } = await readBindings(replaced, writer);
    const left = others.filter((grant) => !replaced.includes(grant) || managed.has(grant.binding.name));
    const after = [...left, ...given];
    const manages = after.some((grant) => managesBy(grant, namespace));
    if (!force && !manages && isLastManager(all, member, namespace))
      throw new StatusError(
        'Conflict',
        `${JSON.stringify(member.name)} is the last one who may manage ${JSON.stringify(namespace)} by a binding there: let another manage it first, or force it: --force of "stonegate members" and "kubectl delete", spec.force: true for "kubectl replace"`,
        { details: { name: member.id, kind: 'members', causes: [{ field: FORCE_FIELD }] } },
      );
    const notes = left.map((grant) => noteOn(grant, managed, filter));
    if (role === undefined && removable.length === 0 && left.length > 0)
      throw new StatusError('Conflict', `nothing can be removed here: ${notes.join('; ')}`);
    if (role !== undefined) await giveRole({ member, role, tenant, kind: 'Member' }, writer, options, signal);
    for (const binding of removable) await removeSubject(member.key, binding, writer);
    const removed = new Set(removable.map(({ metadata }) => metadata.name));
    const isIndexed = () =>
      !options.access.index
        .objectsOf(user.tenant)
        .bindingsOfSubject(member.key)
        .some((binding) => binding.namespace === namespace && removed.has(binding.name));
    if (!dryRun) await waitUntil(isIndexed, options.clock, INDEX_WAIT, signal);
    const result = after.length === 0 ? member : memberOf(member.key, after, place);
    return { result: shownMember(result, place, filter), notes };
  }

  /** @param spec undefined to remove the member */
  function replace(
    identity: Identity,
    namespace: string,
    id: string,
    spec: MemberSpec | undefined,
    change: ChangeOptions,
  ): Promise<WithNotes<Member>> {
    return inTurn(identity, namespace, change, (entered) => {
      const member = entered.shown.find((one) => one.id === id);
      if (member === undefined) throw ownObjectNotFound(id, MEMBERS);
      // The API server's refusals name bindings.
      if (!entered.filter.mayList(namespace))
        throw new StatusError(
          'AccessDenied',
          `members.stonegate.dev ${JSON.stringify(id)} is forbidden: it needs the right to list rolebindings in the namespace ${JSON.stringify(namespace)}`,
        );
      if (spec !== undefined && (spec.type !== member.type || spec.name !== member.name))
        throw invalidObject('Member', 'spec', 'type and name of a member cannot be changed');
      return write(entered, member, spec?.role, true, change);
    });
  }

  return {
    /** @returns the names of the namespaces whose members the user sees */
    async namespaces(identity: Identity): Promise<readonly string[]> {
      const { subject, user } = await viewAs(identity, '', options);
      return namespacesAllowed(options.access.index, subject, visibleNamespaces(user.tenant), 'visible');
    },
    async list(identity: Identity, namespace: string): Promise<WithNotes<readonly Member[]>> {
      const { place, all, shown, filter, notes } = await enter(identity, namespace);
      const hidden = all.length - shown.length;
      if (hidden > 0) notes.push(`members who may be another tenant's are not shown: ${hidden}`);
      return { result: shown.map((member) => shownMember(member, place, filter)), notes };
    },
    /** Gives a role beside what the member has already. */
    add(
      identity: Identity,
      namespace: string,
      spec: MemberSpec,
      change: ChangeOptions,
    ): Promise<WithNotes<Member>> {
      return inTurn(identity, namespace, change, (entered) => {
        const { place, all, filter } = entered;
        const key = keyNamed(spec, place, options.mode);
        // Who may not list bindings does not learn whether the member was there.
        const known = filter.mayList(namespace) ? all.find((one) => one.key === key) : undefined;
        return write(entered, known ?? memberOf(key, [], place), spec.role, false, change);
      });
    },
    /** Gives a role in place of those that bindings of the namespace give. */
    set: replace,
    remove: (identity: Identity, namespace: string, id: string, change: ChangeOptions) =>
      replace(identity, namespace, id, undefined, change),
    /** Gives a role to a user whom the identity has invited. @throws StatusError what `giveRole` throws */
    grant(
      identity: Identity,
      { namespace, role, username }: { namespace: string; role: string; username: string },
      change: ChangeOptions,
    ): Promise<void> {
      const member = { id: memberID({ type: 'User', name: username }), key: userKey(username) };
      const given = { member, role, tenant: options.mode.tenantOf(identity), kind: 'Invitation' } as const;
      return giveRole(given, writerOf(identity, namespace, change), options, change.signal);
    },
  };
}

function tooManyChanges(): StatusError {
  const why = 'too many changes of the members of the namespace wait';
  return new StatusError('TenantRateExceeded', `Too many requests, please try again later: ${why}`);
}

/** The bindings of grants as they are now; `managed` has the names of those that Stonegate makes. */
async function readBindings(grants: readonly MemberGrant[], writer: BindingWriter) {
  const read = await mapWithConcurrency(grants, READS, ({ binding }) => readBinding(binding.name, writer));
  const stored = read.filter((binding) => binding !== undefined);
  const managed = stored.filter(({ metadata }) => hasManagedLabel(metadata));
  return {
    removable: stored.filter((binding) => !managed.includes(binding)),
    managed: new Set(managed.map(({ metadata }) => metadata.name)),
  };
}

/**
 * What the index shows to a user.
 *
 * @param namespace the user has the groups that count there; empty for those outside of namespaces
 * @throws StatusError AccessIndexUnavailable: only the index decides who sees what
 */
export async function viewAs(
  identity: Identity,
  namespace: string,
  { access, mode, requests, keystone }: MembersOptions,
) {
  const { index } = access;
  const tenant = mode.tenantOf(identity);
  const subject = await requests.subjectOf(identity);
  const user = subjectIn(subject, namespace);
  const incomplete = access.incompleteReason(user.tenant, { namespace });
  if (access.state(user.tenant) !== 'current')
    throw new StatusError('AccessIndexUnavailable', `it is not known now who may do what: ${incomplete}`);
  const notes = incomplete === undefined ? [] : [`this may be incomplete: ${incomplete}`];
  const scopes = await knownScopes(keystone, notes);
  const viewer = viewerOf(identity, user, tenant, mode);
  const filter = new SubjectFilter(viewer, { index, isCurrent: true, scopes });
  return { tenant, subject, user, filter, notes, objects: index.objectsOf(user.tenant) };
}
