/**
 * Decides whether a user may enter the tenant that the path's prefix addresses. Pure on the policies in
 * force: nothing is asked of the API server, so that a refusal does not depend on whether the tenant exists.
 */

import { StatusError } from '../errors/status-error.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import { forbidden } from '../kubernetes/forbidden.ts';
import type { RequestInfo, TenantName } from '../kubernetes/request-info.ts';
import { POD_CONNECTIONS } from '../kubernetes/request-info.ts';
import { ENTERED_TENANT } from '../observability/audit-event.ts';
import type { Identity } from '../tenancy/identity.ts';
import { selfReviewOf } from '../tenancy/self-review.ts';
import type { GuestRules, TenancyMode } from '../tenancy/tenancy-mode.ts';
import { OWN_GROUP } from './own-api.ts';
import type { Entry, Permit, Policies, PolicyAttributes } from './tenant-entry.ts';
import { type PolicyReference, policyGroup, policyName } from './tenant-entry.ts';

/** A user in another tenant than their own. */
export interface Crossing {
  /** The entered tenant. */
  readonly tenant: TenantName;
  readonly entry: Entry;
  readonly policy: PolicyReference;
}

/** The parts of an authenticated request on which the crossing depends. */
export interface CrossingRequest {
  readonly info: RequestInfo;
  readonly identity: Identity;
  readonly sender: { readonly kind: 'stonegate' | 'client' };
}

export interface CrossingOptions {
  readonly mode: Pick<TenancyMode, 'guests'>;
  readonly policies?: Policies;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A request that every guest may make: any policy that lets the user in will do. */
const NO_RESOURCE: PolicyAttributes = { isResourceRequest: false };

/** Whether the path addresses another tenant than the user's own. */
export function addressesOther({ addressed }: Pick<RequestInfo, 'addressed'>, home: TenantName): boolean {
  return addressed !== undefined && addressed.tenant !== home;
}

/**
 * @param home the user's own tenant
 * @param user as known in it
 * @returns undefined if the path addresses no other tenant
 * @throws StatusError TenantForbidden if no policy lets the user in, whether or not the tenant exists;
 *   AccessDenied if the policies that do, do not allow the request; IdentityReserved or IdentityUnusable
 */
export function crossingOf(
  request: CrossingRequest,
  home: TenantName,
  user: UserInfo,
  options: CrossingOptions,
): Crossing | undefined {
  const { info, identity } = request;
  if (info.addressed === undefined || !addressesOther(info, home)) return undefined;
  const { tenant } = info.addressed;
  const { mode, policies, now } = options;
  const names = mode.guests?.namedAtHome(identity);
  if (policies === undefined || mode.guests?.mayBeEntered(tenant) !== true)
    throw noEntry(info, user, tenant, 'no policy can let users into this tenant');
  if (names === undefined || request.sender.kind === 'client')
    throw noEntry(info, user, tenant, 'this credential cannot enter another tenant than its own');
  const entry: Entry = { home, ...names, tenant };
  const permit = permitOfRequest(entry, info, policies, now);
  if (permit !== undefined) return { tenant, entry, policy: permit.policy };
  const admitting = policies.admitting(entry, now);
  const [first] = admitting;
  if (first === undefined)
    throw noEntry(info, user, tenant, `no policy lets ${entry.name} of ${home} into the tenant ${tenant}`);
  throw refusedByPolicies(info, mode.guests.userOf(entry, policyGroup(first)), tenant, admitting);
}

/** Finds the policy that permits a guest's request. @param now milliseconds since the epoch */
function permitOfRequest(
  entry: Entry,
  info: RequestInfo,
  policies: Policies,
  now: number,
): Permit | undefined {
  const review = selfReviewOf(info);
  const isOfEveryGuest = review === 'access' || review === 'subject';
  return permitOf(entry, isOfEveryGuest ? NO_RESOURCE : info, policies, now);
}

/** Finds the policy that permits what a guest asks for or about. @param now milliseconds since the epoch */
export function permitOf(
  entry: Entry,
  attributes: PolicyAttributes,
  policies: Policies,
  now: number,
): Permit | undefined {
  // The resources of Stonegate's own API; its documents are discovery.
  if (attributes.isResourceRequest && attributes.apiGroup === OWN_GROUP) return undefined;
  // Every user needs `create` to connect, whatever the method: see `connect-create.ts`.
  if (attributes.isResourceRequest && POD_CONNECTIONS.has(attributes.subresource)) {
    if (policies.permits(entry, { ...attributes, verb: 'create' }, now) === undefined) return undefined;
  }
  return policies.permits(entry, attributes, now);
}

/** The user whom the guest's requests impersonate. @throws StatusError IdentityUnusable */
export function guestOf({ entry, policy }: Crossing, mode: Pick<TenancyMode, 'guests'>): UserInfo {
  return guestRules(mode).userOf(entry, policyGroup(policy));
}

/** @throws StatusError InvariantBroken for a mode in which no tenant can be entered */
export function guestRules({ guests }: Pick<TenancyMode, 'guests'>): GuestRules {
  if (guests !== undefined) return guests;
  throw new StatusError('InvariantBroken', 'Internal error occurred: a guest without rules for guests');
}

/** Refuses in the same words for every tenant, also for one that does not exist. */
function noEntry(info: RequestInfo, { username }: UserInfo, tenant: TenantName, cause: string): StatusError {
  return forbidden('TenantForbidden', info, username, tenant, cause).annotated({ [ENTERED_TENANT]: tenant });
}

function refusedByPolicies(
  info: RequestInfo,
  { username }: UserInfo,
  tenant: TenantName,
  admitting: readonly PolicyReference[],
): StatusError {
  const names = admitting.map(policyName).join(',');
  const cause = `the user may enter the tenant ${tenant} by ${names}, none of which allows this`;
  return forbidden('AccessDenied', info, username, tenant, cause).annotated({
    [ENTERED_TENANT]: tenant,
    'stonegate.dev/refused-by-policies': names,
  });
}
