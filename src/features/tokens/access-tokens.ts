/**
 * Makes, lists, rotates and revokes the access tokens of a user: what Stonegate's own API and the portal
 * call. The objects are written with the provisioning credential.
 */
import { StatusError } from '../../errors/status-error.ts';
import { type Owners, ownerKey } from '../../identity/owners.ts';
import { newSecret } from '../../identity/secret-token.ts';
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { humanDuration, timestamp } from '../../lib/go-time.ts';
import type { Random } from '../../lib/random.ts';
import type { KubernetesIdentity } from '../../proxy/identity-source.ts';
import { ownObjectNotFound } from '../../proxy/response/own-objects.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { TENANCY_API_VERSION } from '../cross-tenant/tenancy-v1alpha1.ts';
import {
  type AccessTokenSpec,
  type ShownToken,
  STORED_TOKENS,
  type StoredTokenSpec,
  storedTokenSchema,
} from './access-token-v1alpha1.ts';
import { givenScopes, type ScopeSpec, scopeNotes, scopeProblem } from './scope.ts';
import { blockOf, endOf, type TokenCheckOptions } from './token-authenticator.ts';
import { type AccessToken, readToken, type TokenStore } from './token-store.ts';
import { longestLife } from './tokens-configuration.ts';

export interface AccessTokensOptions extends TokenCheckOptions {
  readonly store: TokenStore;
  readonly objects: Objects;
  readonly place: Place;
  readonly owners: Owners;
  readonly describe: (identity: Identity) => KubernetesIdentity;
  readonly random: Pick<Random, 'bytes'>;
}

/** The functions throw a StatusError also for what the API server refuses. */
export interface AccessTokens {
  /** The user's tokens, the newest first. */
  list(identity: Identity): readonly ShownToken[];
  /** @throws StatusError ObjectInvalid, OwnerUnusable, AccessDenied */
  create(identity: Identity, spec: AccessTokenSpec, signal: AbortSignal): Promise<ShownToken>;
  /**
   * @param overlapSeconds for which the present secret stays valid
   * @throws StatusError NotFound, ObjectInvalid, AccessDenied
   */
  rotate(identity: Identity, name: string, overlapSeconds: number, signal: AbortSignal): Promise<ShownToken>;
  /** @throws StatusError NotFound */
  revoke(identity: Identity, name: string, signal: AbortSignal): Promise<ShownToken>;
}

/** Tokens of one user that have not ended. */
const MAX_TOKENS = 100;
/** Secrets of one token that count at a time: a script that rotates in a loop stops here. */
const MAX_SECRETS = 8;
const ATTEMPTS = 4;
const KIND = { apiVersion: 'stonegate.dev/v1alpha1', resource: 'accesstokens' };

export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  const { store, objects, place, owners, describe, random, clock, lifetimes } = options;

  function shown(token: AccessToken, secret?: string): ShownToken {
    const { id, uid, createdAt, description, scopes, rules, expiresAt, owner, lastUsedAt } = token;
    const ended = endOf(token, clock.now());
    const blocked = blockOf(token, lifetimes);
    const reason = ended?.reason ?? blocked;
    const notes = scopeNotes(token);
    return {
      metadata: { name: id, uid, creationTimestamp: timestamp(createdAt) },
      spec: {
        ...(description !== undefined && { description }),
        scopes,
        ...(rules && { rules }),
        expirationSeconds: Math.round((expiresAt - createdAt) / 1_000),
      },
      status: {
        ...(secret !== undefined && { token: secret }),
        state: ended?.state ?? (blocked === undefined ? 'active' : 'blocked'),
        ...(reason !== undefined && { reason }),
        owner,
        expirationTimestamp: timestamp(expiresAt),
        ...(lastUsedAt > 0 && { lastUsedTimestamp: timestamp(lastUsedAt) }),
        ...(notes.length > 0 && { notes }),
      },
    };
  }

  function owned(identity: Identity): AccessToken[] {
    const { tenant } = describe(identity);
    return [...store.ofOwner(ownerKey(identity))].filter((token) => token.tenant === tenant);
  }

  function named(identity: Identity, name: string): AccessToken {
    const token = owned(identity).find(({ id }) => id === name);
    if (token === undefined) throw ownObjectNotFound(name, KIND);
    return token;
  }

  /** Changes the stored object as it is now; a concurrent change is read and changed again. */
  async function change(
    { id }: AccessToken,
    apply: (spec: StoredTokenSpec) => StoredTokenSpec,
    signal: AbortSignal,
  ): Promise<AccessToken> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const object = await objects.get(STORED_TOKENS, place, id, signal);
      const { data } = storedTokenSchema.safeParse(object);
      if (object === undefined || data === undefined) break;
      const changed: StoredObject = { ...object, spec: apply(data.spec) };
      const outcome = await objects.update(STORED_TOKENS, place, changed, signal);
      const token = outcome === 'updated' ? readStored(changed) : undefined;
      if (token !== undefined) return token;
    }
    throw ownObjectNotFound(id, KIND);
  }

  return {
    list: (identity) =>
      owned(identity)
        .sort((one, other) => other.createdAt - one.createdAt)
        .map((token) => shown(token)),
    async create(identity, spec, signal) {
      const lifetime = checkedLifetime(spec, lifetimes);
      assertWithin(identity, spec);
      const owner = owners.ownerOf(identity);
      const { tenant, user } = describe(owner);
      const now = clock.now();
      const live = owned(identity).filter((token) => endOf(token, now) === undefined);
      if (live.length >= MAX_TOKENS) throw invalid(`you have ${MAX_TOKENS} access tokens: revoke some first`);
      const { id, text, digest } = newSecret('sgt_', random);
      const { description, scopes, rules } = spec;
      const expiresAt = Math.min(
        now + lifetime,
        identity.accessToken ? identity.expiresAt : Number.POSITIVE_INFINITY,
      );
      const stored: StoredTokenSpec = {
        ...(description !== undefined && { description }),
        scopes,
        ...(rules && { rules }),
        tenant,
        owner: user.username,
        identity: JSON.stringify(owner),
        expires: timestamp(expiresAt),
        secrets: [{ digest }],
      };
      const object = {
        apiVersion: TENANCY_API_VERSION,
        kind: 'AccessToken',
        metadata: { name: id },
        spec: stored,
      };
      const outcome = await objects.create(STORED_TOKENS, place, object, signal);
      const token = readStored({
        ...object,
        metadata: { name: id, uid: id, resourceVersion: '1', creationTimestamp: timestamp(now) },
      });
      // An id has 41 bits of chance.
      if (outcome === 'exists' || token === undefined)
        throw new StatusError('InternalError', 'the access token could not be made: try again');
      return shown(token, text);
    },
    async rotate(identity, name, overlapSeconds, signal) {
      const token = named(identity, name);
      assertWithin(identity, token);
      const now = clock.now();
      const ended = endOf(token, now);
      if (ended !== undefined) throw invalid(`the access token is ${ended.state}`);
      const { text, digest } = newSecret('sgt_', random, token.id);
      const until = now + overlapSeconds * 1_000;
      const changed = await change(
        token,
        (spec) => {
          const counting = spec.secrets.filter(({ until }) => until === undefined || now < Date.parse(until));
          if (counting.length >= MAX_SECRETS)
            throw invalid(`${MAX_SECRETS} secrets of it count at the moment: wait until some have ended`);
          const ending = counting.map((secret) => {
            const ends = Math.min(until, secret.until === undefined ? until : Date.parse(secret.until));
            return { digest: secret.digest, until: timestamp(ends) };
          });
          return { ...spec, secrets: [...ending, { digest }] };
        },
        signal,
      );
      return shown(changed, text);
    },
    async revoke(identity, name, signal) {
      const token = named(identity, name);
      const revoked = { at: timestamp(clock.now()), reason: 'revoked by its owner' };
      return shown(await change(token, (spec) => ({ ...spec, revoked: spec.revoked ?? revoked }), signal));
    },
  };
}

function readStored(object: StoredObject): AccessToken | undefined {
  return readToken({ value: object, text: () => '' }).token;
}

/** @returns milliseconds */
function checkedLifetime(spec: AccessTokenSpec, lifetimes: TokenCheckOptions['lifetimes']): number {
  const problem = scopeProblem(spec);
  if (problem !== undefined) throw invalid(problem, 'spec.scopes');
  const { expirationSeconds } = spec;
  const most = Math.floor(longestLife(spec, lifetimes) / 1_000);
  if (expirationSeconds === undefined || expirationSeconds < 1 || expirationSeconds > most)
    throw invalid(
      `expected 1 to ${most} (${humanDuration(most * 1_000)}), which is the longest for these scopes`,
      'spec.expirationSeconds',
    );
  return expirationSeconds * 1_000;
}

/** A token makes no token, and no secret, that may do more than itself. */
function assertWithin({ accessToken }: Identity, { scopes, rules = [] }: ScopeSpec): void {
  if (accessToken === undefined) return;
  const isWithin = givenScopes({ scopes, rules }).every((scope) => accessToken.has(scope));
  if (!isWithin)
    throw new StatusError(
      'AccessDenied',
      `the access token ${accessToken.id} can make and rotate only tokens of its own scopes: ${accessToken.text}`,
    );
}

/** kubectl shows nothing but the causes. */
function invalid(message: string, field = 'spec'): StatusError {
  const named = field === 'spec' ? message : `${field}: ${message}`;
  return new StatusError('ObjectInvalid', `AccessToken is invalid: ${named}`, {
    details: {
      group: 'stonegate.dev',
      kind: 'AccessToken',
      causes: [{ reason: 'FieldValueInvalid', message, field }],
    },
  });
}
