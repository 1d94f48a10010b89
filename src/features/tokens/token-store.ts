/**
 * All access tokens. Each process gets them by an informer, so that a request asks no backend. An object that
 * cannot be read counts as no token.
 */
import { unauthorized } from '../../errors/status-error.ts';
import { ownerKey } from '../../identity/owners.ts';
import type { InformerList, InformerStore } from '../../kubernetes/informer-store.ts';
import { MalformedObject, type ReceivedObject, readRevision } from '../../kubernetes/list-watch.ts';
import { metadataOf } from '../../kubernetes/object-format.ts';
import { type Clock, waitUntil } from '../../lib/clock.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { memoize, memoizeByReference } from '../../lib/memoize.ts';
import { parseJSON } from '../../lib/parse-json.ts';
import { identitySchema, type QualifiedIdentity } from '../../tenancy/identity.ts';
import { ownershipOf, type TenantOwned, type TenantUIDs } from '../tenant-uids.ts';
import { type StoredTokenSpec, storedTokenSchema } from './access-token-v1alpha1.ts';

export interface AccessToken extends TenantOwned {
  readonly id: string;
  readonly uid: string;
  readonly revision: number;
  /** The user name. */
  readonly owner: string;
  readonly ownerKey: string;
  /** As JSON; see `identityOf`. Tokens of one owner share the text. */
  readonly identityText: string;
  /** Like all times, it is in milliseconds since the epoch. */
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
  readonly tenants: Pick<TenantUIDs, 'isFormer'>;
}

/** For how many milliseconds a request waits for a token that another replica may just have made. */
const ARRIVAL_TIMEOUT = 1_000;
/** How many requests may wait: an attacker can make up any number of ids. */
const MAX_WAITING = 200;

export class TokenStore implements InformerStore<ReadToken> {
  readonly #options: TokenStoreOptions;
  readonly #tokens = new Map<string, AccessToken>();
  readonly #byOwner = new Map<string, Set<AccessToken>>();
  #waiting = 0;

  constructor(options: TokenStoreOptions) {
    this.#options = options;
  }

  get(id: string): AccessToken | undefined {
    const token = this.#tokens.get(id);
    return token && this.#options.tenants.isFormer(token) ? undefined : token;
  }

  /** All tokens, those that were made for deleted tenants too. */
  values(): Iterable<AccessToken> {
    return this.#tokens.values();
  }

  ofOwner(key: string): Iterable<AccessToken> {
    return [...(this.#byOwner.get(key) ?? [])].filter((token) => !this.#options.tenants.isFormer(token));
  }

  /** Waits for a token that is not known yet. @throws StatusError CredentialInvalid */
  async wait(id: string): Promise<AccessToken> {
    if (this.#waiting < MAX_WAITING) {
      this.#waiting += 1;
      await waitUntil(() => this.get(id) !== undefined, this.#options.clock, ARRIVAL_TIMEOUT);
      this.#waiting -= 1;
    }
    const token = this.get(id);
    if (token === undefined) throw unauthorized(`there is no access token ${id}`);
    return token;
  }

  revisionOf({ id }: ReadToken): number | undefined {
    return this.#tokens.get(id)?.revision;
  }

  put({ id, token }: ReadToken): void {
    const before = this.#tokens.get(id);
    if (before !== undefined) {
      this.#tokens.delete(id);
      const owned = this.#byOwner.get(before.ownerKey);
      owned?.delete(before);
      if (owned?.size === 0) this.#byOwner.delete(before.ownerKey);
    }
    if (token !== undefined) this.#add(token);
    const isRevoked = token === undefined || token.revoked !== undefined;
    if (before !== undefined && before.revoked === undefined && isRevoked) this.#options.onEnded(id);
  }

  #add(read: AccessToken): void {
    const owned = this.#byOwner.get(read.ownerKey) ?? new Set();
    const [{ ownerKey, identityText } = read] = owned;
    const token = identityText === read.identityText ? { ...read, ownerKey, identityText } : read;
    this.#tokens.set(token.id, token);
    this.#byOwner.set(ownerKey, owned.add(token));
  }

  delete({ id }: ReadToken): void {
    this.put({ id, revision: 0 });
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
        for (const token of this.#tokens.values()) if (!listed.has(token.id)) this.delete(token);
      },
    };
  }
}

/** The owner's identity at their last sign-in. Parsed when the token is used: few of many tokens are. */
export const identityOf = memoizeByReference(({ id, identityText }: AccessToken): QualifiedIdentity => {
  const identity = parseJSON(identityText, identitySchema);
  if (identity === undefined) throw unauthorized(`the owner of the access token ${id} cannot be read`);
  return identity;
});

export interface ReadToken {
  readonly id: string;
  readonly revision: number;
  /** Undefined if the object cannot be read as a token. */
  readonly token?: AccessToken | undefined;
}

/** One copy of a text that many tokens have. */
const shared = memoize((text) => text);

/** @throws MalformedObject if the object has no name */
export function readToken({ value }: ReceivedObject): ReadToken {
  const { name, uid, resourceVersion } = metadataOf(value);
  if (typeof name !== 'string' || name === '') throw new MalformedObject('an access token has no name');
  const revision = readRevision(resourceVersion);
  const { data } = storedTokenSchema.safeParse(value);
  const { tenantUID, createdAt } = ownershipOf(value);
  if (data === undefined || typeof uid !== 'string') return { id: name, revision };
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
    tenantUID: tenantUID && shared(tenantUID),
    tenant: shared(tenant),
    owner,
    ownerKey: ownerKey(identity, tenant),
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
