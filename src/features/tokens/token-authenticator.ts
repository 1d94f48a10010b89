/**
 * Authenticates access tokens, which are accepted only as bearer tokens. The identity is what the owner's is
 * now, with the token's scope. Every refusal is the same 401 to a client without a valid secret.
 */
import { timingSafeEqual } from 'node:crypto';
import { StatusError, unauthorized } from '../../errors/status-error.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import type { Credential } from '../../identity/credential.ts';
import type { Owners } from '../../identity/owners.ts';
import { digestOfSecret, idOfSecret } from '../../identity/secret-token.ts';
import type { Clock } from '../../lib/clock.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { createTokenScope, scopeProblem } from './scope.ts';
import type { AccessToken, TokenStore } from './token-store.ts';
import { longestLife, type TokensConfiguration } from './tokens-configuration.ts';

const PREFIX = 'sgt_';

export interface TokenCheckOptions {
  readonly lifetimes: TokensConfiguration['lifetimes'];
  readonly clock: Clock;
}

export interface TokenAuthenticatorOptions extends TokenCheckOptions {
  readonly store: Pick<TokenStore, 'get' | 'wait'>;
  /** Whether the store has not been proven for so long that a revocation may be missing. */
  readonly isStale: () => boolean;
  readonly owners: Owners;
  readonly mode: Pick<TenancyMode, 'tenantOf' | 'reviewTenant'>;
  readonly used: (token: AccessToken) => void;
}

type TokenCredential = Extract<Credential, { readonly token: string }>;

/** Computed once for a connection, whose requests share one credential object. */
const digestOf = memoizeByReference(({ token }: TokenCredential) => {
  const id = idOfSecret(PREFIX, token);
  return id === undefined ? undefined : { id, digest: Buffer.from(digestOfSecret(token), 'hex') };
});

export function createTokenAuthenticator(options: TokenAuthenticatorOptions): Authenticator {
  const { store, isStale, owners, mode, clock, used } = options;
  const identityOf = memoizeByReference((token: AccessToken) =>
    memoizeByReference((owner: Identity) => withScope(token, owner, mode)),
  );

  function accept(token: AccessToken, digest: Buffer): Promise<Identity> | Identity {
    const now = clock.now();
    const isKnown = token.secrets.some((one) => now < one.until && isEqual(one.digest, digest));
    if (!isKnown) throw unauthorized(`the secret of the access token ${token.id} is wrong, or was rotated`);
    const ended = endOf(token, now);
    if (ended !== undefined)
      throw unauthorized(`the access token ${token.id} is ${ended.state}: ${ended.reason}`);
    const blocked = blockOf(token, options.lifetimes);
    if (blocked !== undefined)
      throw new StatusError('TokenBlocked', `the access token ${token.id} is blocked: ${blocked}`);
    used(token);
    const owner = owners.current(token);
    return owner instanceof Promise ? owner.then(identityOf(token)) : identityOf(token)(owner);
  }

  return {
    name: 'access-token',
    takes: 'access tokens',
    authenticate(credential) {
      if (!('token' in credential) || !credential.token.startsWith(PREFIX)) return undefined;
      if (credential.kind !== 'bearer') throw unauthorized('an access token is sent as a bearer token alone');
      const given = digestOf(credential);
      if (given === undefined) throw unauthorized('the access token has a typo');
      if (isStale())
        throw new StatusError(
          'TokensUnavailable',
          'Service Unavailable: the API server has sent no news of access tokens for too long',
        );
      const token = store.get(given.id);
      if (token !== undefined) return accept(token, given.digest);
      return store.wait(given.id).then((found) => accept(found, given.digest));
    },
  };
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** @returns undefined for a token that has not ended */
export function endOf(
  { revoked, expiresAt }: Pick<AccessToken, 'revoked' | 'expiresAt'>,
  now: number,
): { readonly state: 'revoked' | 'expired'; readonly reason: string; readonly at: number } | undefined {
  if (revoked !== undefined) return { state: 'revoked', ...revoked };
  return now < expiresAt ? undefined : { state: 'expired', reason: 'its time is over', at: expiresAt };
}

/** @returns why a token that has not ended is blocked by this configuration; undefined if it is not */
export function blockOf(token: AccessToken, lifetimes: TokensConfiguration['lifetimes']): string | undefined {
  const problem = scopeProblem(token.spec);
  if (problem !== undefined) return problem;
  if (token.expiresAt - token.createdAt <= longestLife(token.spec, lifetimes) + CLOCK_DIFFERENCE)
    return undefined;
  return "it lives longer than tokens of its scopes may since Stonegate's operator lowered the maximum; make a new one";
}

/** Milliseconds: the API server sets when an object was created, to the second. */
const CLOCK_DIFFERENCE = 60_000;

/** @throws StatusError CredentialInvalid if the owner belongs to another tenant now */
function withScope(
  token: AccessToken,
  owner: Identity,
  { tenantOf, reviewTenant }: TokenAuthenticatorOptions['mode'],
): Identity {
  const tenant = tenantOf(owner);
  if (tenant !== token.tenant)
    throw unauthorized(
      `the owner of the access token ${token.id} is not of the tenant ${token.tenant} any more`,
    );
  return {
    ...owner,
    accessToken: createTokenScope(token.id, token.spec, reviewTenant(tenant) ?? ''),
    expiresAt: token.expiresAt,
    auditAnnotations: { ...owner.auditAnnotations, 'stonegate.dev/access-token': token.id },
  };
}
