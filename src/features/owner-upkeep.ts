/**
 * Keeps stored objects that act in their owners' names: writes with which groups the owners have signed in,
 * and what else becomes known of an object; deletes those that ended long ago. Every process does so: what
 * another has written already is not written again.
 */
import { StatusError } from '../errors/status-error.ts';
import { isKnownFromSignIn, type Owners, ownerKey } from '../identity/owners.ts';
import type { Place, ResourceKind } from '../kubernetes/kubernetes-object.ts';
import type { Objects } from '../kubernetes/objects.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { timestamp } from '../lib/go-time.ts';
import type { Logger } from '../lib/logger.ts';
import type { Identity } from '../tenancy/identity.ts';

export interface OwnedObject {
  readonly id: string;
  readonly uid: string;
  readonly identity: Identity;
  /** In milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** The objects of one kind that this process knows. */
export interface OwnedObjects<T extends OwnedObject> {
  get(id: string): T | undefined;
  values(): Iterable<T>;
  ofOwner(key: string): Iterable<T>;
}

export interface OwnerUpkeepOptions<T extends OwnedObject> {
  readonly kind: ResourceKind;
  readonly store: OwnedObjects<T>;
  /** When the object ended, in milliseconds since the epoch; undefined if it has not. */
  readonly endedAt: (object: T, now: number) => number | undefined;
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
/** For how long ended objects stay listed. */
const LISTED_FOR = 30 * 24 * HOUR;

export class OwnerUpkeep<T extends OwnedObject> {
  readonly #options: OwnerUpkeepOptions<T>;
  /** What to write to the status, by id. */
  readonly #pending = new Map<string, object>();
  /** Identities that were seen: a cached credential has the same object at each request. */
  readonly #seen = new WeakSet<Identity>();
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #pause = PACE;
  #sweptAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: OwnerUpkeepOptions<T>) {
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

  /** The fields of the status are written soon. */
  note({ id }: T, status: object): void {
    this.#pending.set(id, { ...this.#pending.get(id), ...status });
  }

  /** A request with another credential than an access token. */
  signedIn(identity: Identity): void {
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    const { store, clock, endedAt } = this.#options;
    const owned = [...store.ofOwner(ownerKey(identity))];
    const owner = owned.length === 0 ? undefined : this.#ownerOf(identity);
    if (owner === undefined || !isKnownFromSignIn(owner)) return;
    const now = clock.now();
    for (const object of owned)
      if (endedAt(object, now) === undefined && isNews(object, owner, now))
        this.note(object, { signIn: { at: timestamp(now), identity: JSON.stringify(owner) } });
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

  #later(): void {
    this.#timer = this.#options.clock.after(this.#pause, () => {
      this.#running = this.#run().finally(() => {
        if (!this.#stopping.signal.aborted) this.#later();
      });
    });
  }

  /** One write at most. Never rejects. */
  async #run(): Promise<void> {
    const { clock, logger, kind } = this.#options;
    const [next] = this.#pending;
    this.#pause = PACE;
    try {
      if (next !== undefined) {
        this.#pending.delete(next[0]);
        if ((await this.#write(...next)) === 'conflict') this.#again(...next);
      } else if (clock.now() - this.#sweptAt >= HOUR) {
        this.#sweptAt = clock.now();
        await this.#sweep();
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (next !== undefined) this.#again(...next);
      this.#pause = PAUSE;
      logger.warn({ error }, `${kind.resource}: what became known of an object could not be written`);
    }
  }

  /** After all others. What has become known meanwhile is newer. */
  #again(id: string, status: object): void {
    const newer = this.#pending.get(id);
    this.#pending.delete(id);
    this.#pending.set(id, { ...status, ...newer });
  }

  async #write(id: string, status: object) {
    const { kind, store, endedAt, objects, place, clock } = this.#options;
    const known = store.get(id);
    if (known === undefined || endedAt(known, clock.now()) !== undefined) return 'gone';
    const { signal } = this.#stopping;
    const object = await objects.get(kind, place, id, signal);
    return object && objects.updateStatus(kind, place, object, status, signal);
  }

  /** Deletes what ended long ago. */
  async #sweep(): Promise<void> {
    const { kind, store, endedAt, objects, place, clock } = this.#options;
    const { signal } = this.#stopping;
    for (const known of store.values()) {
      const at = endedAt(known, clock.now());
      if (at === undefined || clock.now() - at < LISTED_FOR) continue;
      if (signal.aborted) return;
      const object = await objects.get(kind, place, known.id, signal);
      if (object?.metadata.uid === known.uid) await objects.delete(kind, place, object, signal);
    }
  }
}

/** Other groups, or an hour since the last sign-in that is known. */
function isNews({ identity, signedInAt }: OwnedObject, owner: Identity, now: number): boolean {
  const facts = ({ groups, extra, verifiedEmail }: Identity) =>
    JSON.stringify([groups, extra, verifiedEmail]);
  return facts(identity) !== facts(owner) || now - signedInAt >= HOUR;
}
