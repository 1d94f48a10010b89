/**
 * The authenticator for every bearer token that nobody else takes: the API server is asked whose it is. It comes last,
 * so that a token of Keystone's or of a configured issuer is judged there alone. Whom the API server knows keeps the
 * name it knows them by and goes through with that very token (`pipeline/pass-through.ts`).
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
import type { Identity } from '../api/identity.ts';
import { unauthorized } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Authenticator } from './authenticator.ts';
import type { ForgettingCredentialCache, Validated } from './credential-cache.ts';
import type { TokenCredential } from './token-credential.ts';
import type { TokenReviewer } from './token-reviewer.ts';
import type { UnknownCredentialGate } from './unknown-credential-gate.ts';
import { tenantOfVouched, type VouchedTenantRules, type VouchedUser, vouchedUser } from './vouched-user.ts';

export interface TokenReviewAuthenticatorOptions {
  readonly reviewer: TokenReviewer;
  readonly cache: ForgettingCredentialCache<VouchedUser>;
  readonly gate: UnknownCredentialGate;
  readonly rules: VouchedTenantRules;
  readonly clock: Clock;
  /** By what an operator may drop a token's entry. */
  readonly tagsOf: (vouched: VouchedUser) => readonly string[];
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
  const identityOfUser = memoizeByReference((vouched: VouchedUser) => identityOf(vouched, rules));

  // Without the client's signal: others may wait for the same answer.
  async function validate(token: string, source: string): Promise<Validated<VouchedUser>> {
    const user = await reviewer.review(token, source);
    const vouched = user && vouchedUser(token, user);
    return vouched && { value: vouched, expiresAt: endOf(vouched), tags: tagsOf(vouched) };
  }

  /** Once for a credential that comes with every request of a connection. */
  const isSpelt = memoizeByReference(
    ({ token }: TokenCredential) => token.length <= MAX_LENGTH && TOKEN.test(token),
  );

  function identityOfVouched(vouched: VouchedUser | undefined): Identity {
    if (vouched === undefined) throw unauthorized('the API server does not vouch for the token');
    if (endOf(vouched) <= clock.now()) throw unauthorized('the token has expired');
    return identityOfUser(vouched);
  }

  return {
    name: 'token-review',
    takes: 'every bearer token that no other takes',
    authenticate(credential, { source, revalidates }) {
      if (credential.kind !== 'bearer') return undefined;
      if (!isSpelt(credential))
        throw unauthorized('the bearer token is too long, or has characters that none has');
      const { token } = credential;
      const vouched = cache.lookup(credential, (reason) =>
        reason === 'refresh' || revalidates
          ? validate(token, source)
          : gate.enter(source, () => validate(token, source)),
      );
      return vouched instanceof Promise ? vouched.then(identityOfVouched) : identityOfVouched(vouched);
    },
    forget: (token) => cache.forget(token),
  };
}

/** @throws StatusError CredentialInvalid for a user of no tenant */
function identityOf(vouched: VouchedUser, rules: VouchedTenantRules): Identity {
  const { user, expiresAt = Number.POSITIVE_INFINITY } = vouched;
  const tenant = tenantOfVouched(vouched, rules);
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
function endOf({ expiresAt = Number.MAX_SAFE_INTEGER }: VouchedUser): number {
  return Math.min(expiresAt, Number.MAX_SAFE_INTEGER);
}
