/**
 * The authenticator for all other bearer tokens: the API server validates them by TokenReview. It is the
 * last in the chain, so that tokens of Keystone and of configured issuers are decided by their own
 * authenticators. The user keeps the API server's name, and the request is forwarded with its own token.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import { z } from 'zod';
import type { ForgettingCredentialCache } from '../cache/credential-cache.ts';
import { StatusError, unauthorized } from '../errors/status-error.ts';
import { postReview } from '../kubernetes/access-reviewer.ts';
import { type UserInfo, userInfoSchema } from '../kubernetes/authentication-v1.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import { type Clock, withDeadline } from '../lib/clock.ts';
import { goTextListsSchema, goTextSchema, goTextsSchema } from '../lib/go-json.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import { type Codec, jsonCodec, parseJSON } from '../lib/parse-json.ts';
import type { Output } from '../lib/schema-fields.ts';
import type { Identity } from '../tenancy/identity.ts';
import type { Authenticator } from './authenticator.ts';
import type { TokenCredential } from './credential.ts';
import { type JWTParts, readJWT } from './jwt/jwt-parser.ts';
import { createTokenValidation, type TokenValidationOptions } from './token-validation.ts';

export interface TokenReviewAuthenticatorOptions
  extends Pick<TokenValidationOptions<ReviewedUser>, 'gate' | 'clock' | 'tagsOf'> {
  readonly review: TokenReviewer;
  readonly cache: ForgettingCredentialCache<ReviewedUser>;
  readonly rules: ReviewedTenantRules;
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
  const { review, cache, rules } = options;
  const identityOfToken = createTokenValidation<ReviewedUser>({
    ...options,
    backend: 'the API server',
    async validate(token, source) {
      const user = await review(token, source);
      return user && reviewedUser(token, user);
    },
    identityOf: (reviewed) => identityOf(reviewed, rules),
  });

  /** Memoized: a connection sends the same credential object with every request. */
  const isSpelt = memoizeByReference(
    ({ token }: TokenCredential) => token.length <= MAX_LENGTH && TOKEN.test(token),
  );

  return {
    name: 'token-review',
    takes: 'every bearer token that no other takes',
    authenticate(credential, context) {
      if (credential.kind !== 'bearer') return undefined;
      if (!isSpelt(credential))
        throw unauthorized('the bearer token is too long, or has characters that none has');
      return identityOfToken(credential, context);
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

export interface TokenReviewerOptions {
  readonly fetcher: UpstreamFetcher;
  /** The token must be for one of these audiences; empty for the API server's own. */
  readonly audiences: readonly string[];
  /** Timeout of one review, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
}

const PATH = '/apis/authentication.k8s.io/v1/tokenreviews';
/** The anonymous user: no token may authenticate as it. */
const ANONYMOUS = 'system:anonymous';
const UNAUTHENTICATED = 'system:unauthenticated';

const reviewSchema = z.object({
  kind: z.literal('TokenReview'),
  status: z.object({
    authenticated: z.boolean().default(false),
    error: z.string().default(''),
    audiences: goTextsSchema,
    user: z
      .object({
        username: goTextSchema,
        uid: goTextSchema,
        groups: goTextsSchema,
        extra: goTextListsSchema,
      })
      .optional(),
  }),
});
type ReviewStatus = z.infer<typeof reviewSchema>['status'];

/**
 * @param source address of the client, whose account the request is charged to
 * @returns undefined if the API server does not authenticate the token, or not for the configured audiences
 * @throws StatusError UpstreamUnavailable if the API server cannot be reached or its response cannot be used,
 *   UpstreamRefusedCredential if Stonegate may not create TokenReviews
 */
export type TokenReviewer = (token: string, source: string) => Promise<UserInfo | undefined>;

/**
 * Creates TokenReviews with Stonegate's own credential. Only `authenticated: true` authenticates a user; a
 * response that cannot be read is an error, so that it neither admits a client nor makes the client discard
 * its token.
 */
export function createTokenReviewer({
  fetcher,
  audiences,
  timeout,
  clock,
}: TokenReviewerOptions): TokenReviewer {
  return async (token, source) => {
    const spec = audiences.length === 0 ? { token } : { token, audiences };
    const late = () => new Error('a token review took too long');
    const response = await withDeadline(clock, timeout, late, (signal) =>
      postReview(
        fetcher,
        { account: { kind: 'source', address: source }, sender: { kind: 'stonegate' }, target: PATH },
        { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec },
        signal,
      ),
    );
    return userOf(statusOf(response), audiences);
  };
}

/** @throws StatusError UpstreamUnavailable, UpstreamRefusedCredential */
function statusOf({ status: http, body }: UpstreamResponse): ReviewStatus {
  if (http === 403) {
    throw new StatusError(
      'UpstreamRefusedCredential',
      'the API server does not let Stonegate create tokenreviews; its operator applies what `stonegate manifests rbac --config FILE` prints',
    );
  }
  if (http !== 200 && http !== 201) throw unusable(`its status was ${http}`);
  const review = parseJSON(body.toString('utf8'), reviewSchema);
  if (review === undefined) throw unusable('it is no review');
  return review.status;
}

function userOf(status: ReviewStatus, audiences: readonly string[]): UserInfo | undefined {
  const { authenticated, error, user } = status;
  if (!authenticated) return undefined;
  if (error !== '') throw unusable('it says yes, and that something failed');
  // A response without audiences comes from an API server that does not support them.
  if (audiences.length > 0 && !status.audiences.some((one) => audiences.includes(one))) return undefined;
  if (user === undefined || user.username === '') throw unusable('it names no user');
  return user.username === ANONYMOUS || user.groups.includes(UNAUTHENTICATED) ? undefined : user;
}

function unusable(cause: string): StatusError {
  return new StatusError('UpstreamUnavailable', "the API server's answer to a token review is unusable", {
    cause,
  });
}
