/**
 * Whom the API server vouches for, and the tenant they are of. A TokenReview of Arktos omits the tenant: a service
 * account's stands in its token, which may be read once the API server has vouched for that very token, and anybody
 * else's is the text before the first colon of the name, as for every user of Arktos.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { type JWTParts, readJWT } from './jwt-parts.ts';

/** What is remembered of a token: nothing in it is of the configuration. */
export interface VouchedUser {
  readonly user: UserInfo;
  /** When the token says that it ends, in milliseconds since the epoch; absent where it does not say so. */
  readonly expiresAt?: number;
  /** As the token says; empty where that is no text. */
  readonly tenantClaim?: string;
}

export interface VouchedTenantRules {
  /** For those whose credential names no tenant. */
  readonly tenant?: string | undefined;
  /** Where credentials name tenants: whether a word can be one, and none that is more than one of many. */
  readonly isOrdinaryTenant?: ((word: string) => boolean) | undefined;
}

const TENANT_CLAIM = 'kubernetes.io/serviceaccount/tenant';
const SERVICE_ACCOUNT = /^system:serviceaccount:[^:]+:[^:]+$/;

/**
 * @param token one that the API server has vouched for as `user`
 * @returns undefined for a token that two readers could read differently
 */
export function vouchedUser(token: string, user: UserInfo): VouchedUser | undefined {
  const parts = readJWT(token);
  if (parts === undefined) return { user };
  if (!parts.unambiguous) return undefined;
  return { user, ...endOf(parts), ...tenantClaimOf(parts) };
}

function endOf({ payload: { exp } }: JWTParts): Pick<VouchedUser, 'expiresAt'> {
  return typeof exp === 'number' && Number.isFinite(exp) ? { expiresAt: exp * 1_000 } : {};
}

function tenantClaimOf({ payload }: JWTParts): Pick<VouchedUser, 'tenantClaim'> {
  if (!Object.hasOwn(payload, TENANT_CLAIM)) return {};
  const claim = payload[TENANT_CLAIM];
  return { tenantClaim: typeof claim === 'string' ? claim : '' };
}

/**
 * A service account is never of the tenant that its name begins with, `system`; nor is anybody else by the name alone.
 *
 * @returns undefined where nothing says which tenant it is
 */
export function tenantOfVouched(
  { user, tenantClaim }: VouchedUser,
  { tenant, isOrdinaryTenant }: VouchedTenantRules,
): string | undefined {
  if (isOrdinaryTenant === undefined) return tenant;
  if (SERVICE_ACCOUNT.test(user.username)) return tenantClaim ?? tenant;
  const colon = user.username.indexOf(':');
  const word = user.username.slice(0, Math.max(colon, 0));
  return isOrdinaryTenant(word) ? word : tenant;
}

/** Of `VouchedUser` as text and back, for the shared cache, where another version may have written it. */
export const vouchedUserCodec = {
  encode: (vouched: VouchedUser): string => JSON.stringify(vouched),

  /** @returns undefined for what is no such user */
  decode(text: string): VouchedUser | undefined {
    const vouched: unknown = JSON.parse(text);
    return isVouchedUser(vouched) ? vouched : undefined;
  },
};

function isVouchedUser(value: unknown): value is VouchedUser {
  return (
    isJSONObject(value) &&
    isUser(value.user) &&
    (value.expiresAt === undefined || Number.isFinite(value.expiresAt)) &&
    (value.tenantClaim === undefined || typeof value.tenantClaim === 'string')
  );
}

function isUser(value: unknown): value is UserInfo {
  return (
    isJSONObject(value) &&
    typeof value.username === 'string' &&
    value.username !== '' &&
    typeof value.uid === 'string' &&
    isTexts(value.groups) &&
    isJSONObject(value.extra) &&
    Object.values(value.extra).every(isTexts)
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}
