/**
 * The authenticator for all other bearer tokens: the API server validates them by TokenReview. It is the
 * last in the chain, so that tokens of Keystone and of configured issuers are decided by their own
 * authenticators. The user keeps the API server's name, and the request is forwarded with its own token.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import { z } from 'zod';
import type { ForgettingCredentialCache, Validated } from '../cache/credential-cache.ts';
import { unauthorized } from '../errors/status-error.ts';
import { type UserInfo, userInfoSchema } from '../kubernetes/authentication-v1.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { type Codec, jsonCodec } from '../lib/parse-json.ts';
import type { Output } from '../lib/schema-fields.ts';
import type { UnknownCredentialGate } from '../limits/unknown-credential-gate.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';
import { type JWTParts, readJWT } from './jwt/jwt-parser.ts';
import type { TokenReviewClient } from './ports.ts';

export interface TokenReviewAuthenticatorOptions {
  readonly reviewer: TokenReviewClient;
  readonly cache: ForgettingCredentialCache<ReviewedUser>;
  readonly gate: UnknownCredentialGate;
  readonly rules: ReviewedTenantRules;
  readonly clock: Clock;
  /** Tags by which an operator drops a token's entry. */
  readonly tagsOf: (reviewed: ReviewedUser) => readonly string[];
}

/** RFC 6750 §2.1. The token is forwarded in a header as it is, so no other characters are accepted. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/** Service account tokens are about 1 kB; an API server limits its headers too. */
const MAX_LENGTH = 16 * 1024;

/**
 * The authenticator throws StatusError CredentialInvalid for a token that the API server refuses or that has
 * no tenant, UpstreamUnavailable if the API server cannot be reached, UpstreamRefusedCredential if Stonegate
 * may not create TokenReviews, CredentialRateExceeded from the gate.
 */
export function createTokenReviewAuthenticator(options: TokenReviewAuthenticatorOptions): Authenticator {
  const { reviewer, cache, gate, rules, clock, tagsOf } = options;
  const identityOfUser = memoizeByReference((reviewed: ReviewedUser) => identityOf(reviewed, rules));

  // Not cancelled with the client's request: other requests may wait for the same response.
  async function validate(token: string, source: string): Promise<Validated<ReviewedUser>> {
    const user = await reviewer.review(token, source);
    const reviewed = user && reviewedUser(token, user);
    return reviewed && { value: reviewed, expiresAt: endOf(reviewed), tags: tagsOf(reviewed) };
  }

  /** Memoized: a connection sends the same credential object with every request. */
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

/** The shared cache stores finite times only. */
function endOf({ expiresAt = Number.MAX_SAFE_INTEGER }: ReviewedUser): number {
  return Math.min(expiresAt, Number.MAX_SAFE_INTEGER);
}

/** What is cached for a token: nothing in it depends on the configuration. */
const reviewedUserSchema = z.strictObject({
  user: userInfoSchema.extend({ username: z.string().min(1) }),
  /** `exp` of the token in milliseconds since the epoch; absent if the token has none. */
  expiresAt: z.number().exactOptional(),
  /** The tenant claim of the token; empty if it is not a string. */
  tenantClaim: z.string().exactOptional(),
});

export type ReviewedUser = Output<typeof reviewedUserSchema>;

/** Another stored form needs another name. */
export const reviewedUserCodec: Codec<ReviewedUser> = jsonCodec('token-review', reviewedUserSchema);

export interface ReviewedTenantRules {
  /** The tenant of users whose credential names none. */
  readonly tenant?: string | undefined;
  /** Set if credentials name tenants: whether a word is a tenant name other than `system` and `all`. */
  readonly isOrdinaryTenant?: ((word: string) => boolean) | undefined;
}

const TENANT_CLAIM = 'kubernetes.io/serviceaccount/tenant';
const SERVICE_ACCOUNT = /^system:serviceaccount:[^:]+:[^:]+$/;

/**
 * @param token authenticated by the API server, as `user`
 * @returns undefined for a token with duplicate members, which two parsers could read differently
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
 * A TokenReview of Arktos omits the tenant. For a service account it is a claim of the reviewed token, never
 * the `system` with which its name begins. For any other user it is the text before the first colon of the
 * name, as for every user of Arktos; that never gives `system` or `all`.
 *
 * @returns undefined if nothing names a tenant
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
