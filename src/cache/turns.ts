/**
 * Bounds what is under way at once for each owner: the rest waits in line, and beyond the line it is refused. Owners do
 * not wait for each other.
 */
import { StatusError } from '../errors/status-error.ts';
import { abandoned } from './shared-flight.ts';

export interface TurnsOptions {
  /** Pieces of work under way at once, per owner. */
  readonly running: number;
  /** How many more may wait, per owner. */
  readonly waiting: number;
}

interface Owner {
  running: number;
  readonly line: (() => void)[];
}

export class Turns {
  readonly #options: TurnsOptions;
  readonly #owners = new Map<string, Owner>();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /**
   * @param signal aborted when the result is wanted no more; work that waits is not begun then
   * @throws StatusError TenantRateExceeded where the line is full, UpstreamUnavailable where it is left
   */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) throw abandoned(signal);
    const owner = this.#owners.get(name) ?? { running: 0, line: [] };
    this.#owners.set(name, owner);
    if (owner.running < this.#options.running) owner.running += 1;
    else await this.#turn(owner, signal);
    try {
      return await work();
    } finally {
      this.#leave(name, owner);
    }
  }

  #turn({ line }: Owner, signal: AbortSignal): Promise<void> {
    if (line.length >= this.#options.waiting) {
      throw new StatusError(
        'TenantRateExceeded',
        'Too many requests, please try again later: too many documents are being fetched for this tenant',
      );
    }
    return new Promise((resolve, reject) => {
      const onTurn = (): void => {
        signal.removeEventListener('abort', onLeave);
        resolve();
      };
      const onLeave = (): void => {
        line.splice(line.indexOf(onTurn), 1);
        reject(abandoned(signal));
      };
      signal.addEventListener('abort', onLeave, { once: true });
      line.push(onTurn);
    });
  }

  /** Hands the place to the next in line, or frees it. */
  #leave(name: string, owner: Owner): void {
    const next = owner.line.shift();
    if (next !== undefined) {
      next();
      return;
    }
    owner.running -= 1;
    if (owner.running === 0) this.#owners.delete(name);
  }
}
