/**
 * The access tokens of the cluster in this process, from an informer: a request asks no backend. What cannot
 * be read as a token is none.
 */
import { unauthorized } from '../../errors/status-error.ts';
import { ownerKey } from '../../identity/owners.ts';
import type { InformerList, InformerStore } from '../../kubernetes/informer-store.ts';
import { MalformedObject, type ReceivedObject, readRevision } from '../../kubernetes/list-watch.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { memoize, memoizeByReference } from '../../lib/memoize.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { type Identity, identitySchema } from '../../tenancy/identity.ts';
import { type StoredTokenSpec, storedTokenSchema } from './access-token-v1alpha1.ts';

export interface AccessToken {
  readonly id: string;
  readonly uid: string;
  readonly revision: number;
  /** As this and all times below in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly tenant: string;
  /** The user name. */
  readonly owner: string;
  readonly ownerKey: string;
  /** As JSON; see `identityOf`. Tokens of one owner share the text. */
  readonly identityText: string;
  readonly signedInAt: number;
  readonly description: string | undefined;
  readonly scopes: readonly string[];
  readonly rules: StoredTokenSpec['rules'];
  readonly expiresAt: number;
  /** The newest last; `until` is Infinity for it. */
  readonly secrets: readonly { readonly digest: Buffer; readonly until: number }[];
  readonly revoked: { readonly at: number; readonly reason: string } | undefined;
  readonly lastUsedAt: number;
}

export interface TokenStoreOptions {
  readonly clock: Clock;
  /** Called for each token that was revoked or deleted. */
  readonly onEnded: (id: string) => void;
}

/** Milliseconds in which another replica's new token becomes known here. */
const ARRIVAL_TIMEOUT = 1_000;
/** Requests that wait for unknown tokens: an attacker can make up as many ids as they like. */
const MAX_WAITING = 1_000;

export class TokenStore implements InformerStore<ReadToken> {
  readonly #options: TokenStoreOptions;
  readonly #tokens = new Map<string, AccessToken>();
  readonly #byOwner = new Map<string, Set<AccessToken>>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #waits = 0;

  constructor(options: TokenStoreOptions) {
    this.#options = options;
  }

  get(id: string): AccessToken | undefined {
    return this.#tokens.get(id);
  }

  values(): Iterable<AccessToken> {
    return this.#tokens.values();
  }

  ofOwner(key: string): Iterable<AccessToken> {
    return this.#byOwner.get(key) ?? [];
  }

  /** Waits for a token that is not known yet. @throws StatusError CredentialInvalid */
  async wait(id: string): Promise<AccessToken> {
    if (this.#waits < MAX_WAITING) await this.#arrival(id);
    const token = this.#tokens.get(id);
    if (token === undefined) throw unauthorized(`there is no access token ${id}`);
    return token;
  }

  #arrival(id: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(resolve));
    this.#waits += 1;
    const timer = this.#options.clock.after(ARRIVAL_TIMEOUT, resolve);
    return promise.finally(() => {
      timer.cancel();
      this.#waits -= 1;
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(id);
    });
  }

  revisionOf({ id }: ReadToken): number | undefined {
    return this.#tokens.get(id)?.revision;
  }

  put({ id, token }: ReadToken): void {
    const before = this.#remove(id);
    if (token !== undefined) this.#add(token);
    if (before !== undefined && before.revoked === undefined && (token?.revoked ?? !token))
      this.#options.onEnded(id);
    for (const arrived of this.#waiting.get(id) ?? []) arrived();
  }

  #add(read: AccessToken): void {
    const owned = this.#byOwner.get(read.ownerKey) ?? new Set();
    const [{ ownerKey, identityText } = read] = owned;
    const token = identityText === read.identityText ? { ...read, ownerKey, identityText } : read;
    this.#tokens.set(token.id, token);
    this.#byOwner.set(ownerKey, owned.add(token));
  }

  delete({ id }: ReadToken): void {
    if (this.#remove(id) !== undefined) this.#options.onEnded(id);
  }

  beginList(): InformerList<ReadToken> {
    const listed = new Set<string>();
    return {
      take: (tokens) => {
        for (const token of tokens) {
          listed.add(token.id);
          this.put(token);
        }
      },
      end: () => {
        for (const id of [...this.#tokens.keys()]) if (!listed.has(id)) this.delete({ id, revision: 0 });
      },
    };
  }

  #remove(id: string): AccessToken | undefined {
    const token = this.#tokens.get(id);
    if (token === undefined) return undefined;
    this.#tokens.delete(id);
    const owned = this.#byOwner.get(token.ownerKey);
    owned?.delete(token);
    if (owned?.size === 0) this.#byOwner.delete(token.ownerKey);
    return token;
  }
}

/** The owner's identity at their last sign-in. Parsed when the token is used: few of many tokens are. */
export const identityOf = memoizeByReference(({ id, identityText }: AccessToken): Identity => {
  const identity = parseJSON(identityText, identitySchema);
  if (identity === undefined) throw unauthorized(`the owner of the access token ${id} cannot be read`);
  return identity;
});

export interface ReadToken {
  readonly id: string;
  readonly revision: number;
  /** Undefined for an object that is no token. */
  readonly token?: AccessToken | undefined;
}

/** One copy of a text that many tokens have. */
const shared = memoize((text) => text);

/** @throws MalformedObject if the object has no name */
export function readToken({ value }: ReceivedObject): ReadToken {
  const { name, uid, resourceVersion, creationTimestamp } = metadataOf(value);
  if (typeof name !== 'string' || name === '') throw new MalformedObject('an access token has no name');
  const revision = readRevision(resourceVersion);
  const { data } = storedTokenSchema.safeParse(value);
  const createdAt = typeof creationTimestamp === 'string' ? parseTimestamp(creationTimestamp) : undefined;
  if (data === undefined || createdAt === undefined || typeof uid !== 'string') return { id: name, revision };
  const { spec, status = {} } = data;
  const { tenant, owner, description, scopes, rules, revoked } = spec;
  const identityText = status.signIn?.identity ?? spec.identity;
  const identity = parseJSON(identityText, identitySchema);
  const expiresAt = parseTimestamp(spec.expires);
  if (identity === undefined || expiresAt === undefined) return { id: name, revision };
  const token = {
    id: name,
    uid,
    revision,
    createdAt,
    tenant: shared(tenant),
    owner,
    ownerKey: ownerKey(identity),
    identityText,
    signedInAt: parseTimestamp(status.signIn?.at ?? spec.signedIn) ?? 0,
    description,
    scopes: scopes.map(shared),
    rules,
    expiresAt,
    secrets: spec.secrets.map(({ digest, until }) => ({
      digest: Buffer.from(digest, 'hex'),
      until: until === undefined ? Number.POSITIVE_INFINITY : (parseTimestamp(until) ?? 0),
    })),
    revoked: revoked && { at: parseTimestamp(revoked.at) ?? 0, reason: revoked.reason },
    lastUsedAt: status.lastUsed === undefined ? 0 : (parseTimestamp(status.lastUsed) ?? 0),
  };
  return { id: name, revision, token };
}
