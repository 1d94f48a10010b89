/**
 * Makes, lists, rotates and revokes the access tokens of a user, for Stonegate's own API and the portal. The
 * objects are written with the provisioning credential.
 */

import { StatusError } from '../../errors/status-error.ts';
import { latestEnd, type Owners, signInOf } from '../../identity/owners.ts';
import { newSecret } from '../../identity/secret-token.ts';
import { TENANCY_API_VERSION } from '../../kubernetes/custom-resource.ts';
import type { Place, StoredObject } from '../../kubernetes/kubernetes-object.ts';
import { deleteExactly, type Objects } from '../../kubernetes/objects.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { humanDuration, timestamp } from '../../lib/go-time.ts';
import type { Random } from '../../lib/random.ts';
import { kubernetesIdentity } from '../../proxy/identity-source.ts';
import { invalidObject } from '../../proxy/own-body.ts';
import { ownObjectNotFound } from '../../proxy/response/own-objects.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';
import type { TenantUIDs } from '../tenant-uids.ts';
import {
  type AccessTokenSpec,
  OWN_ACCESS_TOKENS,
  type ShownToken,
  STORED_TOKENS,
  type StoredTokenSpec,
  storedTokenSchema,
} from './access-token-v1alpha1.ts';
import { givenScopes, type ScopeSpec, scopeNotes, scopeProblem } from './scope.ts';
import { blockOf, endOf, type TokenCheckOptions } from './token-authenticator.ts';
import { type AccessToken, identityOf, readToken, type TokenStore } from './token-store.ts';
import { longestLife } from './tokens-configuration.ts';

export interface AccessTokensOptions extends TokenCheckOptions {
  readonly store: TokenStore;
  /** The API server, charged to the tenant. */
  readonly objectsOf: (tenant: TenantName) => Objects;
  readonly place: Place;
  readonly owners: Owners;
  readonly mode: Pick<TenancyMode, 'tenantOf' | 'userOf'>;
  readonly random: Pick<Random, 'bytes'>;
  readonly tenants: Pick<TenantUIDs, 'labelsFor'>;
}

/** Tokens of one user that have not ended. */
const MAX_TOKENS = 100;
/** Tokens of one user that have ended and are listed: a script may make and revoke them in a loop. */
const MAX_ENDED = 200;
/** Secrets of one token that count at a time: a script that rotates in a loop stops here. */
const MAX_SECRETS = 8;
/** Milliseconds until every token that was made is in the store. */
const ARRIVAL = 10_000;
const ATTEMPTS = 4;

/** The methods that write also throw a StatusError for what the API server refuses. */
export class AccessTokens {
  readonly #options: AccessTokensOptions;
  /** Tokens that are being made, and that may not be in the store yet, by id. */
  readonly #made = new Map<string, { readonly owner: string; readonly until: number }>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /** The longest life of a token with these scopes, in milliseconds. */
  longestLife(spec: ScopeSpec): number {
    return longestLife(spec, this.#options.lifetimes);
  }

  /** The user's tokens, the newest first; for an access token, those of its own scopes. */
  list(identity: Identity): readonly ShownToken[] {
    return this.#owned(identity)
      .filter((token) => isWithin(identity, token))
      .sort((one, other) => other.createdAt - one.createdAt)
      .map((token) => this.#shown(token));
  }

  /** @throws StatusError ObjectInvalid, OwnerUnusable, AccessDenied */
  async create(identity: Identity, spec: AccessTokenSpec, signal: AbortSignal): Promise<ShownToken> {
    const { store, objectsOf, place, owners, mode, random, tenants, clock, lifetimes } = this.#options;
    const lifetime = checkedLifetime(spec, lifetimes);
    const owner = owners.ownerOf(identity);
    const { tenant, user } = kubernetesIdentity(owner, mode);
    const now = clock.now();
    const { accessToken } = identity;
    const expiresAt = Math.min(now + lifetime, latestEnd(identity));
    assertWithin(identity, spec, expiresAt);
    const { id, text, digest } = newSecret('sgt_', random);
    const { expirationSeconds: _, ...given } = spec;
    const objects = objectsOf(tenant);
    const stored: StoredTokenSpec = {
      ...given,
      tenant,
      owner: user.username,
      identity: JSON.stringify(owner),
      signedIn: timestamp(
        accessToken ? (store.get(accessToken.id)?.signedInAt ?? 0) : signInOf(identity, now),
      ),
      expires: timestamp(expiresAt),
      secrets: [{ digest }],
    };
    const superfluous = this.#makeRoom(identity, id, now);
    try {
      for (const ended of superfluous) await deleteExactly(objects, STORED_TOKENS, place, ended, signal);
      const object = {
        apiVersion: TENANCY_API_VERSION,
        kind: 'AccessToken',
        metadata: { name: id, labels: await tenants.labelsFor(tenant, objects, signal) },
        spec: stored,
      };
      const token = readStored(await objects.create(STORED_TOKENS, place, object, signal));
      // With 41 random bits, an id is hardly ever taken.
      if (token === undefined)
        throw new StatusError('InternalError', 'the access token could not be created: try again');
      return this.#shown(token, text);
    } catch (error) {
      // After any other error it may have been stored all the same.
      const code = error instanceof StatusError ? error.code : undefined;
      if (code === 'ProvisioningForbidden' || code === 'ProvisioningRefused') this.#made.delete(id);
      throw error;
    }
  }

  /**
   * @param overlapSeconds how long the present secret stays valid
   * @throws StatusError NotFound, ObjectInvalid, AccessDenied, Conflict
   */
  async rotate(
    identity: Identity,
    name: string,
    overlapSeconds: number,
    signal: AbortSignal,
  ): Promise<ShownToken> {
    const { clock, random } = this.#options;
    const token = this.#named(identity, name);
    assertWithin(identity, token, token.expiresAt);
    const now = clock.now();
    const ended = endOf(token, now);
    if (ended !== undefined) throw invalid(`the access token is ${ended.state}`);
    const { text, digest } = newSecret('sgt_', random, token.id);
    const until = now + overlapSeconds * 1_000;
    const renew = (spec: StoredTokenSpec) => {
      if (spec.revoked !== undefined) throw invalid('the access token is revoked');
      return { ...spec, secrets: [...endingSecrets(spec, now, until), { digest }] };
    };
    return this.#shown(await this.#change(identity, token, renew, signal), text);
  }

  /** @throws StatusError NotFound, AccessDenied, Conflict */
  async revoke(identity: Identity, name: string, signal: AbortSignal): Promise<ShownToken> {
    const token = this.#named(identity, name);
    assertWithin(identity, token);
    const revoked = { at: timestamp(this.#options.clock.now()), reason: 'revoked by its owner' };
    const revoke = (spec: StoredTokenSpec) => ({ ...spec, revoked: spec.revoked ?? revoked });
    return this.#shown(await this.#change(identity, token, revoke, signal));
  }

  #shown(token: AccessToken, secret?: string): ShownToken {
    const { clock, lifetimes, owners } = this.#options;
    const { id, uid, createdAt, description, scopes, rules, expiresAt, owner, lastUsedAt } = token;
    const ended = endOf(token, clock.now());
    const blocked = blockOf(token, lifetimes);
    const reason = ended?.reason ?? blocked;
    const countsUntil = owners.countsUntil({ identity: identityOf(token), signedInAt: token.signedInAt });
    const notes = [
      ...scopeNotes(token),
      ...(countsUntil < expiresAt
        ? [`Without another sign-in of yours it works until ${timestamp(countsUntil)}.`]
        : []),
    ];
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

  #keyOf(identity: Identity): string {
    return this.#options.owners.ownerKeyOf(identity, this.#options.mode.tenantOf(identity));
  }

  #owned(identity: Identity): AccessToken[] {
    return [...this.#options.store.ofOwner(this.#keyOf(identity))];
  }

  #named(identity: Identity, name: string): AccessToken {
    const token = this.#owned(identity).find(({ id }) => id === name);
    if (token === undefined) throw ownObjectNotFound(name, OWN_ACCESS_TOKENS);
    return token;
  }

  /** Changes the stored object as it is now; a concurrent change is read and changed again. */
  async #change(
    identity: Identity,
    { id }: AccessToken,
    apply: (spec: StoredTokenSpec) => StoredTokenSpec,
    signal: AbortSignal,
  ): Promise<AccessToken> {
    const { objectsOf, mode, place } = this.#options;
    const objects = objectsOf(mode.tenantOf(identity));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const object = await objects.get(STORED_TOKENS, place, id, signal);
      const { data } = storedTokenSchema.safeParse(object);
      if (object === undefined || data === undefined) throw ownObjectNotFound(id, OWN_ACCESS_TOKENS);
      const changed = { ...object, spec: apply(data.spec) };
      const token = readStored(await objects.update(STORED_TOKENS, place, changed, signal));
      if (token !== undefined) return token;
    }
    throw new StatusError('Conflict', `the access token ${id} is being changed: try again`);
  }

  /**
   * @param id of the token that is made
   * @returns what ended first, if there is too much of it to be listed any longer
   */
  #makeRoom(identity: Identity, id: string, now: number): AccessToken[] {
    const made = this.#made;
    for (const [each, { until }] of made)
      if (now >= until || this.#options.store.get(each) !== undefined) made.delete(each);
    const owner = this.#keyOf(identity);
    const arriving = [...made.values()].filter((one) => one.owner === owner).length;
    const all = this.#owned(identity).map((token) => ({ token, endedAt: endOf(token, now)?.at }));
    const ended = all.filter(({ endedAt }) => endedAt !== undefined);
    if (all.length - ended.length + arriving >= MAX_TOKENS)
      throw invalid(`you have ${MAX_TOKENS} access tokens: revoke some first`);
    made.set(id, { owner, until: now + ARRIVAL });
    ended.sort((one, other) => (other.endedAt ?? 0) - (one.endedAt ?? 0));
    return ended.slice(MAX_ENDED).map(({ token }) => token);
  }
}

/**
 * The secrets that count now, with an end.
 *
 * @param latest the latest end, in milliseconds since the epoch
 */
function endingSecrets({ secrets }: StoredTokenSpec, now: number, latest: number) {
  const ending = secrets.flatMap(({ digest, until }) => {
    const end = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
    return now < end ? [{ digest, until: timestamp(Math.min(end, latest)) }] : [];
  });
  if (ending.length < MAX_SECRETS) return ending;
  throw invalid(`${MAX_SECRETS} secrets of it are valid at the moment: wait until some have ended`);
}

function readStored(written: StoredObject | 'exists' | 'conflict' | 'gone'): AccessToken | undefined {
  return typeof written === 'object' ? readToken({ value: written, text: () => '' }).token : undefined;
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

/** Whether the identity is no access token's, or that of one with all these scopes. */
function isWithin({ accessToken }: Identity, spec: ScopeSpec): boolean {
  return accessToken === undefined || givenScopes(spec).every((scope) => accessToken.has(scope));
}

/**
 * A token makes no token, and no secret, that may do more than itself, or for longer, and revokes none that
 * may do more.
 *
 * @param end of what is made, in milliseconds since the epoch
 */
function assertWithin(identity: Identity, spec: ScopeSpec, end = 0): void {
  const { accessToken, expiresAt } = identity;
  if (accessToken === undefined || (isWithin(identity, spec) && end <= expiresAt)) return;
  throw new StatusError(
    'AccessDenied',
    `the access token ${accessToken.id} can revoke only tokens of its own scopes, and create and rotate only those that end no later: ${accessToken.text}`,
  );
}

/** kubectl shows nothing but the causes. */
function invalid(message: string, field = 'spec'): StatusError {
  return invalidObject('AccessToken', field, message);
}
