/**
 * Writes what becomes known of access tokens while they are used: when they were, and with which groups their
 * owners have signed in; and deletes those that ended long ago. Every process does so: what another has
 * written already is not written again.
 */
import { StatusError } from '../../errors/status-error.ts';
import { isKnownFromSignIn, type Owners, ownerKey } from '../../identity/owners.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { STORED_TOKENS, type StoredTokenStatus } from './access-token-v1alpha1.ts';
import { endOf } from './token-authenticator.ts';
import type { AccessToken, TokenStore } from './token-store.ts';

export interface TokenUpkeepOptions {
  readonly store: TokenStore;
  readonly objects: Objects;
  readonly place: Place;
  readonly owners: Pick<Owners, 'ownerOf'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** All in milliseconds. Between two writes: five in a second. */
const PACE = 200;
const HOUR = 3_600_000;
/** For how long ended tokens stay listed. */
const LISTED_FOR = 30 * 24 * HOUR;

export class TokenUpkeep {
  readonly #options: TokenUpkeepOptions;
  /** By the id of the token. */
  readonly #pending = new Map<string, StoredTokenStatus>();
  /** Identities that were seen: a cached credential has the same object at each request. */
  readonly #seen = new WeakSet<Identity>();
  readonly #stopping = new AbortController();
  #sweptAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: TokenUpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#running;
  }

  used(token: AccessToken): void {
    const now = this.#options.clock.now();
    if (now - token.lastUsedAt >= HOUR && this.#pending.get(token.id)?.lastUsed === undefined)
      this.#add(token, { lastUsed: timestamp(now) });
  }

  /** A request with another credential than an access token. */
  signedIn(identity: Identity): void {
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    const { store, clock } = this.#options;
    const tokens = [...store.ofOwner(ownerKey(identity))];
    const owner = tokens.length === 0 ? undefined : this.#ownerOf(identity);
    if (owner === undefined || !isKnownFromSignIn(owner)) return;
    const now = clock.now();
    const signIn = { at: timestamp(now), identity: JSON.stringify(owner) };
    for (const token of tokens)
      if (endOf(token, now) === undefined && isNews(token, owner, now)) this.#add(token, { signIn });
  }

  /** @returns undefined for a credential of less than the whole user */
  #ownerOf(identity: Identity): Identity | undefined {
    try {
      return this.#options.owners.ownerOf(identity);
    } catch (error) {
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  }

  #add({ id }: AccessToken, status: StoredTokenStatus): void {
    this.#pending.set(id, { ...this.#pending.get(id), ...status });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(this.#options.clock, PACE, signal);
      if (!signal.aborted) await this.#work();
    }
  }

  /** One write at most, but for the sweep. */
  async #work(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      const [next] = this.#pending;
      if (next !== undefined) {
        this.#pending.delete(next[0]);
        await this.#write(...next);
      } else if (clock.now() - this.#sweptAt >= HOUR) {
        this.#sweptAt = clock.now();
        await this.#sweep();
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      logger.warn({ error }, 'access tokens: what became known of a token could not be written');
    }
  }

  async #write(id: string, status: StoredTokenStatus): Promise<void> {
    const { objects, place } = this.#options;
    const { signal } = this.#stopping;
    const object = await objects.get(STORED_TOKENS, place, id, signal);
    if (object !== undefined) await objects.updateStatus(STORED_TOKENS, place, object, status, signal);
  }

  /** Deletes what ended long ago. */
  async #sweep(): Promise<void> {
    const { store, objects, place, clock } = this.#options;
    for (const token of store.values()) {
      const ended = endOf(token, clock.now());
      if (ended === undefined || clock.now() - ended.at < LISTED_FOR) continue;
      if (this.#stopping.signal.aborted) return;
      const { signal } = this.#stopping;
      const object = await objects.get(STORED_TOKENS, place, token.id, signal);
      if (object?.metadata.uid === token.uid) await objects.delete(STORED_TOKENS, place, object, signal);
    }
  }
}

/** Other groups, or an hour since the last sign-in that is known. */
function isNews({ identity, signedInAt }: AccessToken, owner: Identity, now: number): boolean {
  const facts = ({ groups, extra, verifiedEmail }: Identity) =>
    JSON.stringify([groups, extra, verifiedEmail]);
  return facts(identity) !== facts(owner) || now - signedInAt >= HOUR;
}
