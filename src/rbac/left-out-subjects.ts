/**
 * The users and groups named by bindings that are left out of the index, which knows too few rights of them.
 * Beyond a bound of its own it counts every user as named.
 */
import type { StoredBinding } from '../api/rbac-v1.ts';
import { keysOfBinding, type SubjectKey } from './subject-key.ts';

/** An entry, beside the characters of its key. */
const ENTRY_BYTES = 100;

export class LeftOutSubjects {
  readonly #bytes: number;
  /** Subject → the number of the last list since which a binding of it is left out. */
  readonly #lists = new Map<SubjectKey, number>();
  #held = 0;
  /** The number of the last list since which there is no room for a subject. */
  #everyone: number | undefined;

  /** @param bytes that the names may take */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  add(binding: StoredBinding, list: number): void {
    for (const key of keysOfBinding(binding)) {
      const more = this.#lists.has(key) ? 0 : sizeOf(key);
      if (this.#held + more > this.#bytes) {
        this.#everyone = list;
        return;
      }
      this.#held += more;
      this.#lists.set(key, list);
    }
  }

  /** What was left out before this list has been listed again. */
  listEnds(list: number): void {
    for (const [key, last] of this.#lists) {
      if (last >= list) continue;
      this.#lists.delete(key);
      this.#held -= sizeOf(key);
    }
    if (this.#everyone !== undefined && this.#everyone < list) this.#everyone = undefined;
  }

  names(keys: ReadonlySet<SubjectKey>): boolean {
    if (this.#everyone !== undefined) return true;
    if (this.#lists.size === 0) return false;
    for (const key of keys) if (this.#lists.has(key)) return true;
    return false;
  }
}

function sizeOf(key: SubjectKey): number {
  return ENTRY_BYTES + key.length;
}
