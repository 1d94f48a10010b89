/**
 * The authenticator for every bearer token that nobody else takes: the API server is asked whose it is. It comes last,
 * so that a token of Keystone's or of a configured issuer is judged there alone. Whom the API server knows keeps the
 * name it knows them by and goes through with that very token (`pipeline/pass-through.ts`).
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */

import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity } from '../api/identity.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { isJSONObject } from '../lib/json-object.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';
import { type JWTParts, readJWT } from './jwt-parser.ts';
import type {
  ForgettingCredentialCache,
  TokenReviewClient,
  UnknownCredentialGate,
  Validated,
} from './ports.ts';

export interface TokenReviewAuthenticatorOptions {
  readonly reviewer: TokenReviewClient;
  readonly cache: ForgettingCredentialCache<ReviewedUser>;
  readonly gate: UnknownCredentialGate;
  readonly rules: ReviewedTenantRules;
  readonly clock: Clock;
  /** By what an operator may drop a token's entry. */
  readonly tagsOf: (reviewed: ReviewedUser) => readonly string[];
}

/** RFC 6750 §2.1. It goes on in a header as it is, so that nothing else may ever be in it. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/** Of service accounts they are some 1 kB; an API server takes no header beyond its limit either. */
const MAX_LENGTH = 16 * 1024;

/**
 * The authenticator throws StatusError CredentialInvalid for a token the API server does not vouch for or that is of no
 * tenant, UpstreamUnavailable where it cannot be asked, UpstreamRefusedCredential where Stonegate may not ask,
 * CredentialRateExceeded from the gate.
 */
export function createTokenReviewAuthenticator(options: TokenReviewAuthenticatorOptions): Authenticator {
  const { reviewer, cache, gate, rules, clock, tagsOf } = options;
  const identityOfUser = memoizeByReference((reviewed: ReviewedUser) => identityOf(reviewed, rules));

  // Without the client's signal: others may wait for the same answer.
  async function validate(token: string, source: string): Promise<Validated<ReviewedUser>> {
    const user = await reviewer.review(token, source);
    const reviewed = user && reviewedUser(token, user);
    return reviewed && { value: reviewed, expiresAt: endOf(reviewed), tags: tagsOf(reviewed) };
  }

  /** Once for a credential that comes with every request of a connection. */
  const isSpelt = memoizeByReference(
    ({ token }: TokenCredential) => token.length <= MAX_LENGTH && TOKEN.test(token),
  );

  function identityOfVouched(reviewed: ReviewedUser | undefined): Identity {
    if (reviewed === undefined) throw unauthorized('the API server does not vouch for the token');
    if (endOf(reviewed) <= clock.now()) throw unauthorized('the token has expired');
    return identityOfUser(reviewed);
  }

  return {
    name: 'token-review',
    takes: 'every bearer token that no other takes',
    authenticate(credential, { source, revalidates }) {
      if (credential.kind !== 'bearer') return undefined;
      if (!isSpelt(credential))
        throw unauthorized('the bearer token is too long, or has characters that none has');
      const { token } = credential;
      const reviewed = cache.lookup(credential, (reason) =>
        reason === 'refresh' || revalidates
          ? validate(token, source)
          : gate.enter(source, () => validate(token, source)),
      );
      return reviewed instanceof Promise ? reviewed.then(identityOfVouched) : identityOfVouched(reviewed);
    },
    forget: (token) => cache.forget(token),
  };
}

/** @throws StatusError CredentialInvalid for a user of no tenant */
function identityOf(reviewed: ReviewedUser, rules: ReviewedTenantRules): Identity {
  const { user, expiresAt = Number.POSITIVE_INFINITY } = reviewed;
  const tenant = tenantOfReviewed(reviewed, rules);
  if (tenant === undefined) throw unauthorized('nothing says which tenant the token is of');
  return {
    authenticator: 'token-review',
    subject: { kind: 'upstream', user },
    tenantOrigin: { from: 'issuer', tenant },
    uid: user.uid,
    groups: user.groups,
    extra: user.extra,
    expiresAt,
    auditAnnotations: {},
  };
}

/** A shared cache keeps finite instants only. */
function endOf({ expiresAt = Number.MAX_SAFE_INTEGER }: ReviewedUser): number {
  return Math.min(expiresAt, Number.MAX_SAFE_INTEGER);
}

/*
 * Whom the API server vouches for, and the tenant they are of. A TokenReview of Arktos omits the tenant: a service
 * account's stands in its token, which may be read once the API server has reviewed for that very token, and anybody
 * else's is the text before the first colon of the name, as for every user of Arktos.
 
 */

/** What is remembered of a token: nothing in it is of the configuration. */
export interface ReviewedUser {
  readonly user: UserInfo;
  /** When the token says that it ends, in milliseconds since the epoch; absent where it does not say so. */
  readonly expiresAt?: number;
  /** As the token says; empty where that is no text. */
  readonly tenantClaim?: string;
}

export interface ReviewedTenantRules {
  /** For those whose credential names no tenant. */
  readonly tenant?: string | undefined;
  /** Where credentials name tenants: whether a word can be one, and none that is more than one of many. */
  readonly isOrdinaryTenant?: ((word: string) => boolean) | undefined;
}

const TENANT_CLAIM = 'kubernetes.io/serviceaccount/tenant';
const SERVICE_ACCOUNT = /^system:serviceaccount:[^:]+:[^:]+$/;

/**
 * @param token one that the API server has reviewed for as `user`
 * @returns undefined for a token that two readers could read differently
 */
export function reviewedUser(token: string, user: UserInfo): ReviewedUser | undefined {
  const parts = readJWT(token);
  if (parts === undefined) return { user };
  if (!parts.unambiguous) return undefined;
  return { user, ...expiryOf(parts), ...tenantClaimOf(parts) };
}

function expiryOf({ payload: { exp } }: JWTParts): Pick<ReviewedUser, 'expiresAt'> {
  return typeof exp === 'number' && Number.isFinite(exp) ? { expiresAt: exp * 1_000 } : {};
}

function tenantClaimOf({ payload }: JWTParts): Pick<ReviewedUser, 'tenantClaim'> {
  if (!Object.hasOwn(payload, TENANT_CLAIM)) return {};
  const claim = payload[TENANT_CLAIM];
  return { tenantClaim: typeof claim === 'string' ? claim : '' };
}

/**
 * A service account is never of the tenant that its name begins with, `system`; nor is anybody else by the name alone.
 *
 * @returns undefined where nothing says which tenant it is
 */
export function tenantOfReviewed(
  { user, tenantClaim }: ReviewedUser,
  { tenant, isOrdinaryTenant }: ReviewedTenantRules,
): string | undefined {
  if (isOrdinaryTenant === undefined) return tenant;
  if (SERVICE_ACCOUNT.test(user.username)) return tenantClaim ?? tenant;
  const colon = user.username.indexOf(':');
  const word = user.username.slice(0, Math.max(colon, 0));
  return isOrdinaryTenant(word) ? word : tenant;
}

/** Of `ReviewedUser` as text and back, for the shared cache, where another version may have written it. */
export const reviewedUserCodec = {
  encode: (reviewed: ReviewedUser): string => JSON.stringify(reviewed),

  /** @returns undefined for what is no such user */
  decode(text: string): ReviewedUser | undefined {
    const reviewed: unknown = JSON.parse(text);
    return isVouchedUser(reviewed) ? reviewed : undefined;
  },
};

function isVouchedUser(value: unknown): value is ReviewedUser {
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
