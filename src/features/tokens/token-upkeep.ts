/**
 * Writes what becomes known of access tokens while they are used: when they were, and with which groups their
 * owners have signed in; and deletes those that ended long ago. Every process does so: what another has
 * written already is not written again.
 */
import { StatusError } from '../../errors/status-error.ts';
import { isKnownFromSignIn, type Owners, ownerKey } from '../../identity/owners.ts';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { STORED_TOKENS, storedTokenSchema } from './access-token-v1alpha1.ts';
import { deleteToken } from './access-tokens.ts';
import { endOf } from './token-authenticator.ts';
import { type AccessToken, identityOf, type TokenStore } from './token-store.ts';

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
/** After a failure. */
const PAUSE = 10_000;
const HOUR = 3_600_000;
/** For how long ended tokens stay listed. */
const LISTED_FOR = 30 * 24 * HOUR;

/** `at` is RFC 3339: it may be written much later. */
type Work = { readonly at: string } & (
  | { readonly kind: 'used' }
  | { readonly kind: 'signed-in'; readonly owner: Identity }
);

export class TokenUpkeep {
  readonly #options: TokenUpkeepOptions;
  readonly #pending = new Map<string, ReadonlyMap<Work['kind'], Work>>();
  /** Identities that were seen: a cached credential has the same object at each request. */
  readonly #seen = new WeakSet<Identity>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #pause = PACE;
  #sweptAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: TokenUpkeepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#later();
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    return this.#running;
  }

  used(token: AccessToken): void {
    const now = this.#options.clock.now();
    if (now - token.lastUsedAt >= HOUR) this.#add(token, { kind: 'used', at: timestamp(now) });
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
    for (const token of tokens)
      if (
        endOf(token, now) === undefined &&
        (isNews(token, owner, now) || this.#pending.get(token.id)?.has('signed-in'))
      )
        this.#add(token, { kind: 'signed-in', owner, at: timestamp(now) });
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

  #add({ id }: AccessToken, work: Work): void {
    this.#pending.set(id, new Map([...(this.#pending.get(id) ?? []), [work.kind, work]]));
  }

  #later(): void {
    this.#timer = this.#options.clock.after(this.#pause, () => {
      this.#running = this.#run().finally(() => {
        if (!this.#stopping.signal.aborted) this.#later();
      });
    });
  }

  /** Sign-ins first: they may take groups away. */
  #next() {
    for (const entry of this.#pending) if (entry[1].has('signed-in')) return entry;
    const [first] = this.#pending;
    return first;
  }

  /** One write at most. Never rejects. */
  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    const next = this.#next();
    this.#pause = PACE;
    try {
      if (next !== undefined) {
        const [id, work] = next;
        // What is not written is tried again after all others, with what has become known meanwhile.
        this.#pending.delete(id);
        this.#pending.set(id, work);
        const outcome = await this.#write(id, work);
        if (outcome !== 'conflict' && this.#pending.get(id) === work) this.#pending.delete(id);
      } else if (clock.now() - this.#sweptAt >= HOUR) {
        this.#sweptAt = clock.now();
        await this.#sweep();
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#pause = PAUSE;
      logger.warn({ error }, 'access tokens: what became known of a token could not be written');
    }
  }

  async #write(id: string, work: ReadonlyMap<Work['kind'], Work>) {
    const { store, objects, place, clock } = this.#options;
    const token = store.get(id);
    if (token === undefined || endOf(token, clock.now()) !== undefined) return 'gone';
    const { signal } = this.#stopping;
    const object = await objects.get(STORED_TOKENS, place, id, signal);
    const stored = storedTokenSchema.safeParse(object).data?.status?.signIn?.at ?? '';
    const used = work.get('used');
    const signIn = work.get('signed-in');
    const status = {
      ...(used && { lastUsed: used.at }),
      // Another process may have seen a later one.
      ...(signIn?.kind === 'signed-in' &&
        stored <= signIn.at && { signIn: { at: signIn.at, identity: JSON.stringify(signIn.owner) } }),
    };
    return object && objects.updateStatus(STORED_TOKENS, place, object, status, signal);
  }

  /** Deletes what ended long ago. */
  async #sweep(): Promise<void> {
    const { store, objects, place, clock } = this.#options;
    for (const token of store.values()) {
      const ended = endOf(token, clock.now());
      if (ended === undefined || clock.now() - ended.at < LISTED_FOR) continue;
      if (this.#stopping.signal.aborted) return;
      await deleteToken(objects, place, token, this.#stopping.signal);
    }
  }
}

/** Other groups, or an hour since the last sign-in that is known. */
function isNews(token: AccessToken, owner: Identity, now: number): boolean {
  const facts = ({ groups, extra, verifiedEmail }: Identity) =>
    JSON.stringify([groups, extra, verifiedEmail]);
  return facts(identityOf(token)) !== facts(owner) || now - token.signedInAt >= HOUR;
}
