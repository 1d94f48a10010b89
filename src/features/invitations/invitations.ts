/**
 * Invites to a namespace or a team, and accepts: what Stonegate's own API and the portal call. Whether an
 * invited user exists is never asked. What is accepted is given with the rights that the inviter has then.
 */

import { StatusError, unauthorized } from '../../errors/status-error.ts';
import { latestEnd, type Owners, signInOf } from '../../identity/owners.ts';
import { idOfSecret, newSecret } from '../../identity/secret-token.ts';
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { Random } from '../../lib/random.ts';
import type { RateLimiter } from '../../limits/rate-limiter.ts';
import type { KubernetesIdentity } from '../../proxy/identity-source.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import { ownObjectNotFound } from '../../proxy/response/own-objects.ts';
import { type Identity, VERIFIED_EMAIL } from '../../tenancy/identity.ts';
import { NO_TENANT } from '../../tenancy/tenant-name.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import {
  endOf,
  heldInvitation,
  type Invitation,
  type InvitationStore,
  isFor,
  isRefusal,
  noInvitation,
  readInvitation,
  refusalOf,
  shownInvitation,
} from './invitation-store.ts';
import type { InvitationRequest, InvitationTargets } from './invitation-targets.ts';
import {
  type InvitationSpec,
  type Offer,
  OWN_INVITATIONS,
  offerOf,
  type ShownInvitation,
  STORED_INVITATIONS,
  type StoredInvitationSpec,
  storedInvitationSchema,
  targetOf,
} from './invitation-v1alpha1.ts';

export interface InvitationsOptions {
  readonly store: Pick<InvitationStore, 'get' | 'ofTenant'>;
  /** The API server, charged to the tenant. */
  readonly objectsOf: (tenant: TenantName) => Pick<Objects, 'get' | 'create' | 'update'>;
  readonly place: Place;
  readonly owners: Owners;
  readonly describe: (identity: Identity) => KubernetesIdentity;
  readonly targets: InvitationTargets;
  /** Limits how often each user invites. */
  readonly rate: Pick<RateLimiter, 'take' | 'wait'>;
  /** Makes the link that the inviter sends. */
  readonly linkTo: (secret: string) => string;
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes'>;
  readonly tenants: Pick<TenantUIDs, 'isFormer' | 'labelsFor'>;
}

/** Milliseconds: seven days. */
const LIFETIME = 7 * 24 * 3_600_000;
/** Invitations of one user. */
export const MOST_PER_HOUR = 20;
/** A sign-in of the inviter is written to the same object. */
const ATTEMPTS = 4;
/** A claimed invitation is carried out even if its client is gone. */
const UNINTERRUPTED = new AbortController().signal;

/** The methods throw a StatusError also for what the API server does not answer. */
export class Invitations {
  readonly #options: InvitationsOptions;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /**
   * Describes what an open invitation grants to the holder of its secret, who need not be a user. An
   * invitation for an e-mail address is described only to a signed-in user who has that address.
   */
  offered(secret: string): Offer | undefined {
    const { store, clock, tenants } = this.#options;
    const held = heldInvitation(secret, store, clock.now());
    if (held === undefined || held.email !== undefined || tenants.isFormer(held)) return undefined;
    return offerOf(held, false);
  }

  /** @throws StatusError NotFound */
  async show(identity: Identity, secret: string, request: InvitationRequest): Promise<Offer> {
    return offerOf((await this.#open(identity, secret, request)).invitation, false);
  }

  /**
   * The invitation ends before anything is given, and stays ended if that fails: it is never given twice, nor
   * after it was withdrawn.
   *
   * @throws StatusError NotFound
   */
  async accept(identity: Identity, secret: string, request: InvitationRequest): Promise<Offer> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { object, invitation, tenant, inviter, username } = await this.#open(identity, secret, request);
      const claim = await this.#end(tenant, object, 'accepted', `accepted by ${username}`, request.signal);
      if (typeof claim !== 'object') continue;
      try {
        const change = { ...request, signal: UNINTERRUPTED, dryRun: false };
        await this.#options.targets.give(inviter, invitation.target, username, change);
        return offerOf(invitation, true);
      } catch (error) {
        const claimed = await this.#read(tenant, invitation.id, UNINTERRUPTED);
        const reason = isRefusal(error)
          ? refusalOf(error)
          : `${username} accepted it, but it is not known whether the API server did so: invite again`;
        if (claimed !== undefined) await this.#end(tenant, claimed.object, 'refused', reason, UNINTERRUPTED);
        throw isRefusal(error) ? noInvitation() : error;
      }
    }
    throw noInvitation();
  }

  /** @throws StatusError ObjectInvalid, OwnerUnusable, InvitationRateExceeded; what refuses the target */
  async invite(
    identity: Identity,
    spec: InvitationSpec,
    request: InvitationRequest,
  ): Promise<ShownInvitation> {
    const { objectsOf, place, owners, describe, targets, linkTo, clock, random, tenants } = this.#options;
    const target = targetOf(spec);
    if (target === undefined)
      throw invalidObject('Invitation', 'spec', 'expected namespace and role, or team');
    const owner = owners.ownerOf(identity);
    const { tenant, user } = describe(owner);
    if (tenant === NO_TENANT) throw new StatusError('OwnerUnusable', 'invitations need a tenant');
    if (!targets.isInScope(identity, target, 'give'))
      throw new StatusError('AccessDenied', 'the scopes of the access token do not allow granting that');
    this.#assertRate(owners.ownerKeyOf(owner, tenant));
    await targets.give(owner, target, user.username, { ...request, dryRun: true });
    const now = clock.now();
    const countsUntil = owners.countsUntil({ identity: owner, signedInAt: signInOf(identity, now) });
    const { id, text, digest } = newSecret('sgi_', random);
    const stored: StoredInvitationSpec = {
      ...spec,
      tenant,
      inviter: user.username,
      identity: JSON.stringify(owner),
      digest,
      invited: timestamp(now),
      expires: timestamp(Math.min(now + LIFETIME, latestEnd(identity), countsUntil)),
    };
    const objects = objectsOf(tenant);
    const metadata = { name: id, labels: await tenants.labelsFor(tenant, objects, request.signal) };
    const object = { apiVersion: TENANCY_API_VERSION, kind: 'Invitation', metadata, spec: stored };
    const outcome = await objects.create(STORED_INVITATIONS, place, object, request.signal);
    const invitation = readInvitation({ ...object, metadata: { ...metadata, uid: id } });
    // An id has 41 bits of chance.
    if (outcome === 'exists' || invitation === undefined)
      throw new StatusError('InternalError', 'the invitation could not be created: try again');
    return shownInvitation(invitation, now, linkTo(text));
  }

  /** The user's own, and those to what the user may give; the newest first. */
  async list(identity: Identity): Promise<readonly ShownInvitation[]> {
    const { store, describe, tenants, clock } = this.#options;
    const { tenant } = describe(identity);
    const listed = store.ofTenant(tenant).filter((invitation) => !tenants.isFormer(invitation));
    const isVisible = await this.#visibleTo(identity, tenant, listed, 'get');
    return listed
      .filter(isVisible)
      .sort((one, other) => other.invitedAt - one.invitedAt)
      .map((invitation) => shownInvitation(invitation, clock.now()));
  }

  /** @throws StatusError NotFound; Conflict if it was accepted meanwhile */
  async withdraw(identity: Identity, id: string, { signal }: InvitationRequest): Promise<void> {
    const { describe, clock } = this.#options;
    const { tenant, user } = describe(identity);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const found = await this.#read(tenant, id, signal);
      if (found?.invitation.tenant !== tenant) break;
      if (!(await this.#visibleTo(identity, tenant, [found.invitation], 'give'))(found.invitation)) break;
      const ended = endOf(found.invitation, clock.now());
      if (ended?.state === 'accepted')
        throw new StatusError('Conflict', `it cannot be withdrawn any more: it was ${ended.reason}`);
      if (ended !== undefined) return;
      const reason = `withdrawn by ${user.username}`;
      if (typeof (await this.#end(tenant, found.object, 'withdrawn', reason, signal)) === 'object') return;
    }
    throw ownObjectNotFound(id, OWN_INVITATIONS);
  }

  async #read(tenant: TenantName, id: string, signal: AbortSignal) {
    const { objectsOf, place, tenants } = this.#options;
    const object = await objectsOf(tenant).get(STORED_INVITATIONS, place, id, signal);
    const invitation = readInvitation(object);
    if (object === undefined || invitation === undefined || tenants.isFormer(invitation)) return undefined;
    return { object, invitation };
  }

  /** Ends it unless another request has changed it. */
  #end(
    tenant: TenantName,
    object: StoredObject,
    state: 'accepted' | 'withdrawn' | 'refused',
    reason: string,
    signal: AbortSignal,
  ) {
    const { objectsOf, place, clock } = this.#options;
    const { spec } = storedInvitationSchema.parse(object);
    const ended = { at: timestamp(clock.now()), state, reason };
    const changed: StoredObject = { ...object, spec: { ...spec, ended } };
    return objectsOf(tenant).update(STORED_INVITATIONS, place, changed, signal);
  }

  /**
   * The invitation if the user may accept it now, and the inviter as they are now. One that the inviter may
   * not give any more ends.
   *
   * @throws StatusError NotFound, the same for every reason
   */
  async #open(identity: Identity, secret: string, request: InvitationRequest) {
    const { owners, describe, targets, clock } = this.#options;
    const { signal } = request;
    const id = idOfSecret('sgi_', secret);
    const { tenant, user } = describe(identity);
    const found = id === undefined ? undefined : await this.#read(tenant, id, signal);
    const asked = { secret, tenant, verifiedEmail: identity.auditAnnotations[VERIFIED_EMAIL] };
    if (found === undefined || !isFor(found.invitation, asked, clock.now())) throw noInvitation();
    try {
      const inviter = await owners.current(found.invitation);
      if (describe(inviter).tenant !== tenant) throw unauthorized('the inviter is of another tenant now');
      await targets.give(inviter, found.invitation.target, user.username, { ...request, dryRun: true });
      return { ...found, tenant, inviter, username: user.username };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.#end(tenant, found.object, 'refused', refusalOf(error), signal);
      throw noInvitation();
    }
  }

  #assertRate(inviter: string): void {
    const { rate } = this.#options;
    if (rate.take(inviter)) return;
    throw new StatusError(
      'InvitationRateExceeded',
      `Too many requests: a user may create ${MOST_PER_HOUR} invitations in an hour`,
      { details: { retryAfterSeconds: Math.ceil(rate.wait(inviter) / 1_000) } },
    );
  }

  /** @param verb what is to be done with them */
  async #visibleTo(
    identity: Identity,
    tenant: TenantName,
    listed: readonly Invitation[],
    verb: 'give' | 'get',
  ) {
    const { targets, owners } = this.#options;
    const key = owners.ownerKeyOf(identity, tenant);
    const isOwn = (invitation: Invitation) => invitation.ownerKey === key;
    const mayGive = listed.every(isOwn) ? () => false : await targets.givenBy(identity);
    return (invitation: Invitation) =>
      (isOwn(invitation) || mayGive(invitation.target)) &&
      targets.isInScope(identity, invitation.target, verb);
  }
}
