/**
 * The changes of the RBAC index as this process learned of them, for watches that go on from a revision. A
 * change may be learned after a later one of another resource, whose revision a client has then already seen:
 * it is replayed although its own revision is lower.
 */
import type { Clock } from '../../lib/clock.ts';
import type { AccessChange, Change, NamespaceChange } from '../../rbac/change.ts';
import type { RBACIndex } from '../../rbac/rbac-index.ts';

/** Of a namespace only its name: the object may have hundreds of kilobytes, and each patch makes another. */
export interface LoggedNamespaceChange
  extends Pick<NamespaceChange, 'kind' | 'type' | 'tenant' | 'revision'> {
  readonly name: string;
}

export type LoggedChange = LoggedNamespaceChange | AccessChange;

interface Learned {
  readonly change: LoggedChange;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The highest revision of any resource that was known before. */
  readonly known: number;
}

export interface ChangeLogOptions {
  readonly index: RBACIndex;
  readonly clock: Clock;
  /** Ends the log: the index is no longer followed. */
  readonly stopped: AbortSignal;
  /** How many changes are stored. */
  readonly size?: number;
}

const SIZE = 10_000;
/** Subjects and namespaces that the stored changes refer to: about 100 bytes each. */
const MAX_KEYS = 200_000;
/** Milliseconds that one replica may be behind another: beyond it the index is stale. */
const MAX_LAG = 5 * 60_000;

export class ChangeLog {
  readonly #index: RBACIndex;
  readonly #clock: Clock;
  readonly #size: number;
  readonly #learned: Learned[] = [];
  /** Of changes at or below this revision some may be missing. */
  #floor: number;
  #keys = 0;

  constructor({ index, clock, stopped, size = SIZE }: ChangeLogOptions) {
    this.#index = index;
    this.#clock = clock;
    this.#size = size;
    this.#floor = this.known;
    const unsubscribe = index.subscribe({
      changed: (change) => this.#learn(change),
      reset: () => this.#forget(this.known),
      restored: (revision) => this.#forget(revision),
    });
    stopped.addEventListener('abort', unsubscribe, { once: true });
  }

  /** The highest revision that may have been shown. */
  get known(): number {
    return this.#index.highestRevision;
  }

  /**
   * What a client that has seen `revision` may not have seen.
   *
   * @param mayBeOfAnEvent true if the client got the revision perhaps not from a list or a bookmark but from
   *   an event, perhaps of another replica, which may not have known all changes below it
   * @returns undefined if the log does not reach back so far
   */
  since(revision: number, mayBeOfAnEvent: boolean): readonly LoggedChange[] | undefined {
    if (revision < this.#floor) return undefined;
    const recent = this.#clock.now() - MAX_LAG;
    const isUncertain = mayBeOfAnEvent && this.#mayBeEarly(revision);
    return this.#learned
      .filter(
        ({ change, at, known }) =>
          change.revision > revision ||
          known >= revision ||
          (isUncertain && change.kind === 'access' && at >= recent),
      )
      .map(({ change }) => change);
  }

  /** Whether an event may have shown the revision before all changes of rights below it were known. */
  #mayBeEarly(revision: number): boolean {
    return (
      revision > this.#index.revision ||
      this.#learned.some(({ change }) => change.revision === revision && change.kind === 'namespace')
    );
  }

  #learn(change: Change): void {
    // The first lists are the state that a client begins with.
    if (!this.#index.isSynced) {
      this.#floor = Math.max(this.#floor, change.revision);
      return;
    }
    const logged = loggedChange(change);
    this.#learned.push({ change: logged, at: this.#clock.now(), known: this.known });
    this.#keys += keysIn(logged);
    if (this.#learned.length > this.#size * 2) this.#drop(this.#size);
    // A binding may have many thousands of subjects.
    while (this.#keys > MAX_KEYS) this.#drop(Math.ceil(this.#learned.length / 2));
  }

  /** In larger steps: shifting the array for each change would cost its whole length. */
  #drop(count: number): void {
    for (const { change } of this.#learned.splice(0, count)) {
      this.#floor = Math.max(this.#floor, change.revision);
      this.#keys -= keysIn(change);
    }
  }

  /** No client can go on from a revision of before. */
  #forget(revision: number): void {
    this.#learned.length = 0;
    this.#keys = 0;
    this.#floor = revision;
  }
}

function loggedChange(change: Change): LoggedChange {
  if (change.kind === 'access') return change;
  const { kind, type, tenant, revision, namespace } = change;
  return { kind, type, tenant, revision, name: namespace.name };
}

/** What a change refers to: its size in memory. */
function keysIn(change: LoggedChange): number {
  return change.kind === 'access' ? change.subjects.size + change.namespaces.size : 1;
}
