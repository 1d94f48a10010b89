/**
 * Keeps stored objects that act in their owners' names: writes with which groups the owners have signed in,
 * and what else becomes known of an object; deletes those that ended long ago. Every process does so: what
 * another has written already is not written again. One request at a time, so that it delays no other.
 */

import { z } from 'zod';
import { StatusError } from '../errors/status-error.ts';
import { type Owners, signInOf } from '../identity/owners.ts';
import type { Place, ResourceKind } from '../kubernetes/kubernetes-object.ts';
import { deleteExactly, type Objects } from '../kubernetes/objects.ts';
import { pause } from '../lib/clock.ts';
import { timestamp } from '../lib/go-time.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { Identity, QualifiedIdentity } from '../tenancy/identity.ts';

export interface OwnedObject {
  readonly id: string;
  readonly uid: string;
  /** In milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** The objects of one kind that this process knows. */
export interface OwnedObjects<T extends OwnedObject> {
  get(id: string): T | undefined;
  values(): Iterable<T>;
  ofOwner(key: string): Iterable<T>;
}

export interface OwnerUpkeepOptions<T extends OwnedObject> extends Pick<Runtime, 'clock' | 'logger'> {
  readonly kind: ResourceKind;
  readonly store: OwnedObjects<T>;
  readonly identityOf: (object: T) => QualifiedIdentity;
  /** When the object ended, in milliseconds since the epoch; undefined if it has not. */
  readonly endedAt: (object: T, now: number) => number | undefined;
  readonly objects: Objects;
  readonly place: Place;
  readonly owners: Pick<Owners, 'countsUntil' | 'ownerKeyOf' | 'ownerOf'>;
}

/** All in milliseconds. Between two writes: five in a second. */
const PACE = 200;
/** After a failure. */
const PAUSE = 10_000;
const HOUR = 3_600_000;
/** For how long ended objects stay listed. */
const LISTED_FOR = 30 * 24 * HOUR;

/** What to write to the status of an object. Times are in RFC 3339. */
interface Status {
  readonly signIn?: { readonly at: string; readonly identity: string };
  readonly lastUsed?: string;
}

const signedInSchema = z.object({
  status: z.object({ signIn: z.object({ at: z.string() }).optional() }).optional(),
});

export class OwnerUpkeep<T extends OwnedObject> {
  readonly #options: OwnerUpkeepOptions<T>;
  readonly #pending = new Map<string, Status>();
  /** Identities that were seen: a cached credential has the same object at each request. */
  readonly #seen = new WeakSet<Identity>();
  readonly #stopping = new AbortController();
  #pause = PACE;
  #sweptAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: OwnerUpkeepOptions<T>) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#loop();
  }

  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#running;
  }

  /** The fields of the status are written soon. */
  note({ id }: T, status: Status): void {
    this.#pending.set(id, { ...this.#pending.get(id), ...status });
  }

  /** A request with another credential than an access token. @param tenant of the user */
  signedIn(identity: Identity, tenant: string): void {
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    const { store, clock, endedAt, owners } = this.#options;
    const owned = [...store.ofOwner(owners.ownerKeyOf(identity, tenant))];
    const owner = owned.length === 0 ? undefined : this.#ownerOf(identity);
    const now = clock.now();
    const signedInAt = signInOf(identity, now);
    if (owner === undefined || owners.countsUntil({ identity: owner, signedInAt }) === Infinity) return;
    const signIn = { at: timestamp(signedInAt), identity: JSON.stringify(owner) };
    for (const object of owned)
      if (endedAt(object, now) === undefined && this.#isWorthWriting(object, owner, signIn.at))
        this.note(object, { signIn });
  }

  /** @returns undefined for a credential of less than the whole user */
  #ownerOf(identity: Identity): QualifiedIdentity | undefined {
    try {
      return this.#options.owners.ownerOf(identity);
    } catch (error) {
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await pause(this.#options.clock, this.#pause, signal);
      if (!signal.aborted) await this.#run();
    }
  }

  /** Sign-ins first: they may take groups away. */
  #next() {
    for (const entry of this.#pending) if (entry[1].signIn !== undefined) return entry;
    const [first] = this.#pending;
    return first;
  }

  /** One write at most. Never rejects. */
  async #run(): Promise<void> {
    const { clock, logger, kind } = this.#options;
    const next = this.#next();
    this.#pause = PACE;
    try {
      if (next !== undefined) {
        const [id, status] = next;
        // What is not written is tried again after all others, with what has become known meanwhile.
        this.#pending.delete(id);
        this.#pending.set(id, status);
        const outcome = await this.#write(id, status);
        if (outcome !== 'conflict' && this.#pending.get(id) === status) this.#pending.delete(id);
      } else if (clock.now() - this.#sweptAt >= HOUR) {
        this.#sweptAt = clock.now();
        await this.#sweep();
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.#pause = PAUSE;
      logger.warn({ error }, `${kind.resource}: what became known of an object could not be written`);
    }
  }

  async #write(id: string, { signIn, ...others }: Status) {
    const { kind, store, endedAt, objects, place, clock } = this.#options;
    const known = store.get(id);
    if (known === undefined || endedAt(known, clock.now()) !== undefined) return 'gone';
    const { signal } = this.#stopping;
    const object = await objects.get(kind, place, id, signal);
    const stored = signedInSchema.safeParse(object).data?.status?.signIn?.at ?? '';
    // Another process may have seen a later one.
    const status = { ...others, ...(signIn && stored <= signIn.at && { signIn }) };
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
      await deleteExactly(objects, kind, place, known, signal);
    }
  }

  /**
   * Other groups, an hour since the last sign-in, or an earlier one that waits to be written. A credential
   * of an earlier sign-in may have groups that its user has lost since.
   *
   * @param at of the sign-in, in RFC 3339
   */
  #isWorthWriting(object: T, owner: QualifiedIdentity, at: string): boolean {
    const waiting = this.#pending.get(object.id)?.signIn;
    if (waiting !== undefined) return waiting.at <= at;
    const later = Date.parse(at) - object.signedInAt;
    return later >= HOUR || (later >= 0 && factsOf(this.#options.identityOf(object)) !== factsOf(owner));
  }
}

function factsOf({ groups, extra }: QualifiedIdentity): string {
  return JSON.stringify([groups, extra]);
}
