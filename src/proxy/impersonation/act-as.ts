/**
 * Acting as another user (`kubectl --as`), decided as kube-apiserver's impersonation filter does: behind
 * Stonegate it sees Stonegate's right to impersonate, not the caller's. Reserved names are refused before any
 * review, since an administrator of a tenant may impersonate every name as far as the tenant's rules are
 * concerned.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

import { StatusError } from '../../errors/status-error.ts';
import {
  type AccessAttributes,
  type AccessReviewer,
  resourceAttributesOf,
} from '../../kubernetes/access-reviewer.ts';
import type { Extra, UserInfo } from '../../kubernetes/authentication-v1.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import {
  AUTHENTICATED,
  ORIGINAL_USER_KEY,
  RESERVED_EXTRA_KEY,
  reservedPrefixOf,
  SERVICE_ACCOUNTS_PREFIX,
} from '../../kubernetes/reserved-names.ts';
import type { Account } from '../../kubernetes/upstream-request.ts';
import { asciiJSON } from '../../lib/untrusted-text.ts';
import type { ImpersonationTarget } from '../../tenancy/impersonation-target.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { assertSendable, assertUsable } from '../../tenancy/user-name.ts';
import type { Limiter } from '../limiter.ts';
import type { ReasonOf } from '../rbac-reasons.ts';
import type { Scoped } from '../request-context.ts';
import {
  type LastModes,
  modesFor,
  type RefusedRight,
  type RequiredRight,
  type RequiredRights,
  rightsFor,
  type WantedImpersonation,
} from './impersonation-modes.ts';
import { type ImpersonationRequest, impersonationRequest } from './impersonation-request.ts';

export interface ActAsOptions {
  readonly reviewer: AccessReviewer;
  readonly mode: Pick<TenancyMode, 'impersonationTarget' | 'reviewTenant'>;
  /** The keys that clients may ask for: those that Stonegate may impersonate at the API server. */
  readonly extraKeys: ReadonlySet<string>;
  /** Whether the API server has constrained impersonation. */
  readonly constrained: boolean;
  readonly lastModes: LastModes;
  /** Why RBAC does not allow it; absent without the RBAC index. */
  readonly reasonOf?: ReasonOf | undefined;
  readonly limiter: Limiter | undefined;
}

/**
 * @returns the user that the request's headers name; undefined if they name none
 * @throws StatusError ImpersonationForbidden, IdentityUnusable or RequestMalformed for what no user may ask
 *   for, HeadersTooLarge for too many values, AccessDenied for what the caller may not impersonate, and as
 *   the limiter and the reviewer do
 */
export async function resolveImpersonatedUser(
  scoped: Scoped,
  options: ActAsOptions,
): Promise<UserInfo | undefined> {
  const request = impersonationRequest(scoped.exchange.headers);
  if (request === undefined) return undefined;
  const { identity, tenant, user } = scoped;
  assertNamed(identity.subject.kind);
  const target = options.mode.impersonationTarget(request.user, tenant);
  assertSendable(request.uid, 'the uid to impersonate');
  for (const group of request.groups) assertGroup(group);
  for (const [key, values] of Object.entries(request.extra)) assertExtra(key, values, options.extraKeys);
  await assertAllowed({ request, target, info: scoped.info }, scoped, options);
  return userOf(request, target, user);
}

/** The token of a pass-through user names another user; the anonymous user has no rights to review. */
function assertNamed(kind: Scoped['identity']['subject']['kind']): void {
  if (kind === 'upstream' || kind === 'anonymous') throw impossible('this credential may not');
}

function assertGroup(group: string): void {
  assertUsable(group, 'a group to impersonate');
  if (group !== AUTHENTICATED && reservedPrefixOf(group) !== undefined)
    throw impossible(`the group ${JSON.stringify(group)} is reserved`);
}

function assertExtra(key: string, values: readonly string[], allowed: ReadonlySet<string>): void {
  if (RESERVED_EXTRA_KEY.test(key)) throw impossible(`the extra key ${JSON.stringify(key)} is reserved`);
  if (!allowed.has(key))
    throw impossible(
      `the extra key ${JSON.stringify(key)} is not among authentication.impersonationExtraKeys`,
    );
  for (const value of values) assertSendable(value, `a value of the extra key ${JSON.stringify(key)}`);
}

function impossible(why: string): StatusError {
  return new StatusError('ImpersonationForbidden', `impersonation is refused: ${why}`);
}

/**
 * Tries the modes as the API server does: first the one that last succeeded for this caller, then the
 * others in their order. The error is the first mode's.
 *
 * @throws StatusError AccessDenied, and as the limiter and the reviewer do
 */
async function assertAllowed(
  wanted: WantedImpersonation,
  scoped: Scoped,
  options: ActAsOptions,
): Promise<void> {
  const { username } = scoped.user;
  const { constrained, lastModes } = options;
  let firstRefused: RefusedRight | undefined;
  for (const mode of lastModes.order(username, modesFor(wanted, constrained))) {
    const refused = await firstRefusedOf(rightsFor(mode, wanted, constrained), scoped, options);
    if (refused === undefined) {
      lastModes.succeeded(username, mode);
      return;
    }
    firstRefused ??= refused;
  }
  if (firstRefused === undefined)
    throw new StatusError('InvariantBroken', 'Internal error occurred: no mode of impersonation applies');
  const { right, reason = nearMiss(right, scoped, options) } = firstRefused;
  const home = options.mode.reviewTenant(scoped.tenant);
  throw forbidden('AccessDenied', right, username, home, undefined, reason);
}

/** What the caller's roles nearly grant. */
function nearMiss(
  right: RequiredRight,
  { user, tenant, identity }: Scoped,
  { reasonOf }: ActAsOptions,
): string | undefined {
  const info = right.isResourceRequest ? { ...right, tenant: '' as const } : right;
  return reasonOf?.({ info, user, tenant, identity }, false);
}

/**
 * One review after the other, up to the first refusal: a caller without the right costs one review, and a
 * request never holds more than one connection to the API server.
 *
 * @returns undefined if the caller has all rights
 */
async function firstRefusedOf(
  rights: readonly RequiredRights[],
  scoped: Scoped,
  options: ActAsOptions,
): Promise<RefusedRight | undefined> {
  for (const { never, instead, each } of rights) {
    if (never !== undefined) return never;
    if (instead !== undefined && (await isAllowed(instead, scoped, options))) continue;
    for (const right of each) if (!(await isAllowed(right, scoped, options))) return { right };
  }
  return undefined;
}

/** Each review costs as much as a get and is made on the tenant's account. */
async function isAllowed(
  right: RequiredRight,
  scoped: Scoped,
  { reviewer, mode, limiter }: ActAsOptions,
): Promise<boolean> {
  const { user, tenant, exchange } = scoped;
  await limiter?.admit(scoped, right);
  const account: Account = { kind: 'tenant', tenant };
  const attributes = attributesOf(right, mode.reviewTenant(tenant));
  const { allowed, denied = false } = await reviewer.review(user, attributes, account, exchange.signal);
  return allowed && !denied;
}

function attributesOf(right: RequiredRight, home: TenantName | undefined): AccessAttributes {
  if (!right.isResourceRequest) return { nonResourceAttributes: { path: right.rawPath, verb: right.verb } };
  return { resourceAttributes: resourceAttributesOf(right, home) };
}

function userOf(request: ImpersonationRequest, target: ImpersonationTarget, caller: UserInfo): UserInfo {
  const { username, serviceAccount } = target;
  const own =
    serviceAccount === undefined || request.groups.length > 0
      ? request.groups
      : ['system:serviceaccounts', `${SERVICE_ACCOUNTS_PREFIX}${serviceAccount.namespace}`];
  return {
    username,
    uid: request.uid,
    groups: [...new Set([...own, ...target.groups, AUTHENTICATED])],
    extra: { ...request.extra, ...target.extra, ...originalUser(caller) },
  };
}

function originalUser({ username, uid, groups, extra }: UserInfo): Extra {
  const original = {
    username,
    ...(uid !== '' && { uid }),
    groups,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
  return { [ORIGINAL_USER_KEY]: [asciiJSON(JSON.stringify(original))] };
}
