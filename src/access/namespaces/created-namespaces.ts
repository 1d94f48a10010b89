/**
 * Namespaces that users create through this process: a user's next list waits until the index knows a new
 * namespace, so that the user's own is in it.
 */
import type { Clock } from '../../lib/clock.ts';
import type { AccessIndex } from '../ports.ts';

/** Milliseconds after the request for which a list waits: the request may also have been refused. */
const TIMEOUT = 3_000;
const MAX_USERS = 1_000;

interface Creation {
  readonly at: number;
  /** The namespaces that had been added before. */
  readonly added: number;
}

export class CreatedNamespaces {
  readonly #clock: Clock;
  readonly #access: Pick<AccessIndex, 'index' | 'stopped'>;
  readonly #added = new Map<string, number>();
  readonly #creations = new Map<string, Creation>();

  constructor(access: Pick<AccessIndex, 'index' | 'stopped'>, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
    const unsubscribe = access.index.subscribe({
      changed: (change) => {
        if (change.kind === 'namespace' && change.type === 'ADDED')
          this.#added.set(change.tenant, this.#addedTo(change.tenant) + 1);
      },
    });
    access.stopped.addEventListener('abort', unsubscribe, { once: true });
  }

  /** The user is about to create a namespace. */
  begin(tenant: string, username: string): void {
    if (this.#creations.size >= MAX_USERS) this.#creations.clear();
    this.#creations.set(keyOf(tenant, username), { at: this.#clock.now(), added: this.#addedTo(tenant) });
  }

  /** Resolves at once if the user has created none lately. */
  async known(tenant: string, username: string, signal: AbortSignal): Promise<void> {
    const creation = this.#creations.get(keyOf(tenant, username));
    if (creation === undefined) return;
    this.#creations.delete(keyOf(tenant, username));
    const left = creation.at + TIMEOUT - this.#clock.now();
    if (left <= 0 || this.#addedTo(tenant) > creation.added) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(left, finish);
      const unsubscribe = this.#access.index.subscribe({
        changed: () => {
          if (this.#addedTo(tenant) > creation.added) finish();
        },
      });
      function finish(): void {
        timer.cancel();
        unsubscribe();
        signal.removeEventListener('abort', finish);
        resolve();
      }
      signal.addEventListener('abort', finish);
      if (signal.aborted) finish();
    });
  }

  #addedTo(tenant: string): number {
    return this.#added.get(tenant) ?? 0;
  }
}

function keyOf(tenant: string, username: string): string {
  return JSON.stringify([tenant, username]);
}
