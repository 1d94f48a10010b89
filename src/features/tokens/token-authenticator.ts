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
import type { Informer } from '../../kubernetes/informer.ts';
import type { Clock } from '../../lib/clock.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import type { createTenantNamespaces } from '../../rbac/tenant-namespaces.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import { createTokenScope, scopeProblem } from './scope.ts';
import { type AccessToken, identityOf, type TokenStore } from './token-store.ts';
import { longestLife, type TokensConfiguration } from './tokens-configuration.ts';

/**
 * Milliseconds without a sign of life of the API server after which a revocation may be missing: a bookmark
 * comes each minute, and one may be late by a minute.
 */
const STALE_AFTER = 120_000;
const PREFIX = 'sgt_';
const TOKEN_ANNOTATION = 'stonegate.dev/access-token';

export interface TokenCheckOptions {
  readonly lifetimes: TokensConfiguration['lifetimes'];
  readonly clock: Clock;
}

export interface TokenAuthenticatorOptions extends TokenCheckOptions {
  readonly store: Pick<TokenStore, 'get' | 'wait'>;
  /** It fills the store. While it is failing, a token that is not known may be a new one. */
  readonly informer: Readonly<Pick<Informer<never>, 'failingSince' | 'provenAt'>>;
  readonly owners: Owners;
  readonly mode: Pick<TenancyMode, 'tenantOf' | 'reviewTenant'>;
  /** What tenants have if the API server knows none. */
  readonly namespacesOf: ReturnType<typeof createTenantNamespaces>;
  readonly used: (token: AccessToken) => void;
}

type TokenCredential = Extract<Credential, { readonly token: string }>;

/** Computed once for a connection, whose requests share one credential object. */
const digestOf = memoizeByReference(({ token }: TokenCredential) => {
  const id = idOfSecret(PREFIX, token);
  return id === undefined ? undefined : { id, digest: Buffer.from(digestOfSecret(token), 'hex') };
});

export function createTokenAuthenticator(options: TokenAuthenticatorOptions): Authenticator {
  const { store, informer, owners, clock, used } = options;
  const blockedBecause = memoizeByReference((token: AccessToken) => blockOf(token, options.lifetimes));
  const scopedOf = memoizeByReference((token: AccessToken) =>
    memoizeByReference((owner: Identity) => withScope(token, owner, options)),
  );

  function accept(token: AccessToken, digest: Buffer): Promise<Identity> | Identity {
    const now = clock.now();
    const isKnown = token.secrets.some((one) => now < one.until && isEqual(one.digest, digest));
    if (!isKnown) throw unauthorized(`the secret of the access token ${token.id} is wrong, or was rotated`);
    const ended = endOf(token, now);
    if (ended !== undefined)
      throw unauthorized(`the access token ${token.id} is ${ended.state}: ${ended.reason}`);
    const blocked = blockedBecause(token);
    if (blocked !== undefined)
      throw new StatusError('TokenBlocked', `the access token ${token.id} is blocked: ${blocked}`);
    used(token);
    const { signedInAt } = token;
    const owner = owners.current({ identity: identityOf(token), signedInAt });
    return owner instanceof Promise ? owner.then(scopedOf(token)) : scopedOf(token)(owner);
  }

  function explained(token: AccessToken, digest: Buffer): Promise<Identity> | Identity {
    try {
      const identity = accept(token, digest);
      if (!(identity instanceof Promise)) return identity;
      return identity.catch((error: unknown) => {
        throw annotated(token.id, error);
      });
    } catch (error) {
      throw annotated(token.id, error);
    }
  }

  return {
    name: 'access-token',
    takes: 'access tokens',
    authenticate(credential) {
      if (!('token' in credential) || !credential.token.startsWith(PREFIX)) return undefined;
      if (credential.kind !== 'bearer') throw unauthorized('an access token is sent as a bearer token alone');
      const given = digestOf(credential);
      if (given === undefined) throw unauthorized('the access token has a typo');
      const token = store.get(given.id);
      const isStale = clock.now() - (informer.provenAt ?? 0) > STALE_AFTER;
      if (isStale || (token === undefined && informer.failingSince !== undefined))
        throw new StatusError(
          'TokensUnavailable',
          'Service Unavailable: the API server has sent no news of access tokens for too long',
        );
      if (token === undefined) return store.wait(given.id).then((found) => explained(found, given.digest));
      return explained(token, given.digest);
    },
  };
}

/** The audit log says which token was refused, and why; the client learns neither. */
function annotated(id: string, error: unknown): unknown {
  if (!(error instanceof StatusError)) return error;
  const reason = typeof error.cause === 'string' ? error.cause : error.message;
  return error.annotated({ [TOKEN_ANNOTATION]: id, 'stonegate.dev/reason': reason });
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
  const problem = scopeProblem(token);
  if (problem !== undefined) return problem;
  if (token.expiresAt - token.createdAt <= longestLife(token, lifetimes) + CLOCK_DIFFERENCE) return undefined;
  return "it lives longer than tokens of its scopes may since Stonegate's operator lowered the maximum; create a new one";
}

/** Milliseconds: the API server sets when an object was created, to the second. */
const CLOCK_DIFFERENCE = 60_000;

/** @throws StatusError CredentialInvalid if the owner belongs to another tenant now */
function withScope(
  token: AccessToken,
  owner: Identity,
  { mode, namespacesOf }: Pick<TokenAuthenticatorOptions, 'mode' | 'namespacesOf'>,
): Identity {
  const tenant = mode.tenantOf(owner);
  if (tenant !== token.tenant)
    throw unauthorized(
      `the owner of the access token ${token.id} is not of the tenant ${token.tenant} any more`,
    );
  return {
    ...owner,
    accessToken: createTokenScope(token.id, token, mode.reviewTenant(tenant) ?? namespacesOf(tenant)),
    signedInAt: token.signedInAt,
    expiresAt: token.expiresAt,
    auditAnnotations: { ...owner.auditAnnotations, [TOKEN_ANNOTATION]: token.id },
  };
}
