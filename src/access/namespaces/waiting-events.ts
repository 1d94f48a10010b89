/**
 * What a client is still to be told: the namespaces that a watch begins with, and those that change faster
 * than the client reads. Only names wait, and the last state of what is gone; an event is made when the
 * client takes it.
 */
import type { StoredNamespace } from '../../api/rbac-v1.ts';

/** The names that a watch begins with, in their order. */
export class InitialNames {
  readonly #names: readonly string[];
  #at = 0;

  /** @param names sorted, without duplicates */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  get isDone(): boolean {
    return this.#at >= this.#names.length;
  }

  /** @returns undefined if there are no more */
  next(): string | undefined {
    const name = this.#names[this.#at];
    this.#at += 1;
    return name;
  }

  /** Whether the name comes later. */
  isPending(name: string): boolean {
    let from = this.#at;
    let to = this.#names.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#names[middle] ?? '') < name) from = middle + 1;
      else to = middle;
    }
    return this.#names[from] === name;
  }
}

/** A namespace that has changed since the client read last. */
export interface Waiting {
  readonly name: string;
  /** Whether the client has it. */
  readonly isShown: boolean;
  /** What the client had, and is to be told that it is gone, before what is there now. */
  readonly gone: StoredNamespace | undefined;
}

/** Of a name: its entry. */
const ENTRY_BYTES = 200;

export class WaitingEvents {
  readonly #entries = new Map<string, Waiting>();
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** An estimate of the memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * @param wasShown whether the client has it, if nothing of it waits
   * @param goneNow what the client had, if it is gone; undefined if the client is to have it
   */
  add(name: string, wasShown: boolean, goneNow: StoredNamespace | undefined): void {
    const before = this.#entries.get(name);
    const isShown = before?.isShown ?? wasShown;
    const entry = { name, isShown, gone: before?.gone ?? (isShown ? goneNow : undefined) };
    this.#bytes += sizeOf(entry) - (before === undefined ? 0 : sizeOf(before));
    this.#entries.set(name, entry);
  }

  /** The oldest, which waits no longer; undefined if there is none. */
  take(): Waiting | undefined {
    for (const [name, entry] of this.#entries) {
      this.#entries.delete(name);
      this.#bytes -= sizeOf(entry);
      return entry;
    }
    return undefined;
  }
}

function sizeOf({ gone }: Waiting): number {
  return ENTRY_BYTES + (gone?.json.length ?? 0);
}
