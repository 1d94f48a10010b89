/**
 * Acting as somebody else (`kubectl --as`): decided here as kube-apiserver's impersonation filter would, since behind
 * Stonegate it sees Stonegate's right to impersonate, not the caller's. All or nothing: each value asked for is reviewed
 * for the caller, and what is reserved is refused before, since an administrator of a tenant may impersonate everybody
 * as far as the tenant's rules are concerned. Nothing of the caller's own carries over but their name in one extra.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import type { Account } from '../api/account.ts';
import type { Extra, UserInfo } from '../api/authentication-v1.ts';
import { ORIGINAL_USER_KEY, RESERVED_EXTRA_KEY } from '../api/extra-keys.ts';
import type { TenantName } from '../api/identity.ts';
import { reservedPrefixOf } from '../api/reserved-names.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { forbidden } from '../errors/forbidden.ts';
import { StatusError } from '../errors/status-error.ts';
import { asciiJSON } from '../lib/redact.ts';
import type { ImpersonationTarget } from '../tenancy/impersonation-target.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { assertSendable, assertUsable } from '../tenancy/user-name.ts';
import { type ImpersonationRequest, impersonationRequest } from './impersonation-request.ts';
import type { Scoped } from './request-state.ts';

export interface ActAsOptions {
  readonly reviewer: AccessReviewer;
  readonly mode: Pick<TenancyMode, 'impersonationTarget' | 'reviewTenant'>;
  /** That may be asked for: those with which Stonegate may impersonate at the API server. */
  readonly extraKeys: ReadonlySet<string>;
  /** @throws StatusError TenantRateExceeded */
  readonly limitTenant: (tenant: TenantName) => void;
}

/** One thing that somebody must have the right to impersonate. */
interface Impersonated {
  readonly apiGroup: '' | 'authentication.k8s.io';
  readonly resource: 'users' | 'serviceaccounts' | 'groups' | 'uids' | 'userextras';
  readonly namespace: string;
  readonly subresource: string;
  readonly name: string;
}

const AUTHENTICATED = 'system:authenticated';

/**
 * @returns the same request, made as whom its header names; as it is where it names nobody
 * @throws StatusError ImpersonationForbidden, IdentityUnusable or RequestMalformed for what nobody may ask for,
 *   HeadersTooLarge for too much of it, TenantRateExceeded, AccessDenied for what the caller may not, and as the
 *   reviewer does
 */
export async function actAs(scoped: Scoped, options: ActAsOptions): Promise<Scoped> {
  const request = impersonationRequest(scoped.exchange.headers);
  if (request === undefined) return scoped;
  const { identity, tenant, user } = scoped;
  assertNamed(identity.subject.kind);
  const target = options.mode.impersonationTarget(request.user, tenant);
  assertSendable(request.uid, 'the uid to impersonate');
  for (const group of request.groups) assertGroup(group);
  for (const [key, values] of Object.entries(request.extra)) assertExtra(key, values, options.extraKeys);
  // The reviews too are the tenant's: a request that its limit refuses later would have had them for nothing.
  options.limitTenant(tenant);
  await assertAllowed(impersonatedBy(request, target), scoped, options);
  return { ...scoped, user: userOf(request, target, user), impersonator: user };
}

/** A pass-through's own token would say somebody else, and nobody has no rights to act by. */
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
  return new StatusError('ImpersonationForbidden', `acting as somebody else is refused: ${why}`);
}

function impersonatedBy(request: ImpersonationRequest, target: ImpersonationTarget): Impersonated[] {
  const { username, serviceAccount } = target;
  const core = { apiGroup: '', namespace: '', subresource: '' } as const;
  const authentication = { ...core, apiGroup: 'authentication.k8s.io' } as const;
  return [
    serviceAccount === undefined
      ? { ...core, resource: 'users', name: username }
      : { ...core, resource: 'serviceaccounts', ...serviceAccount },
    ...request.groups.map((name) => ({ ...core, resource: 'groups', name }) as const),
    ...Object.entries(request.extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...authentication, resource: 'userextras', subresource, name }) as const),
    ),
    ...(request.uid === '' ? [] : [{ ...authentication, resource: 'uids', name: request.uid } as const]),
  ];
}

/** Asked at once; the first refusal, in their order, is the answer. */
async function assertAllowed(
  impersonated: readonly Impersonated[],
  { user, tenant, exchange }: Scoped,
  { reviewer, mode }: ActAsOptions,
): Promise<void> {
  const home = mode.reviewTenant(tenant);
  const account: Account = { kind: 'tenant', tenant };
  const verb = 'impersonate';
  const answers = await Promise.all(
    impersonated.map(async (one) => {
      const { apiGroup: group, ...attributes } = one;
      const resourceAttributes = {
        ...(home === undefined ? {} : { tenant: home }),
        verb,
        group,
        version: 'v1',
        ...attributes,
      };
      return { one, ...(await reviewer.review(user, { resourceAttributes }, account, exchange.signal)) };
    }),
  );
  const refused = answers.find(({ allowed, denied = false }) => !allowed || denied);
  if (refused === undefined) return;
  throw forbidden('AccessDenied', { isResourceRequest: true, verb, ...refused.one }, user.username, home);
}

function userOf(request: ImpersonationRequest, target: ImpersonationTarget, caller: UserInfo): UserInfo {
  const { username, serviceAccount } = target;
  const own =
    serviceAccount === undefined || request.groups.length > 0
      ? request.groups
      : ['system:serviceaccounts', `system:serviceaccounts:${serviceAccount.namespace}`];
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
