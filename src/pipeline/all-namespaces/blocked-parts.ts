/**
 * The watches of single namespaces that wait until the client of their merged watch has read: the API server
 * is read no faster than the client reads.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { AnswerStream } from '../response/answer-stream.ts';

/** Milliseconds between two looks at the memory that waits. */
const ACCOUNT_PERIOD = 1_000;

export class BlockedParts {
  readonly #waiting: (() => void)[] = [];
  #stream: AnswerStream | undefined;
  #account = () => {};

  /**
   * @param heldBytes what the parts hold at the moment, which counts against the tenant's memory
   * @returns ends it: what waits goes on
   */
  follow(stream: AnswerStream, clock: Clock, heldBytes: () => number): () => void {
    let timer: Timer | undefined;
    this.#stream = stream;
    this.#account = () => {
      timer?.cancel();
      const isBlocked = this.#waiting.length > 0;
      if (stream.holds(isBlocked ? heldBytes() : 0) && isBlocked)
        timer = clock.after(ACCOUNT_PERIOD, this.#account);
    };
    return () => {
      this.#stream = undefined;
      timer?.cancel();
      for (const go of this.#waiting.splice(0)) go();
    };
  }

  /** Resolves when the client has read, for one at a time, and at the end. */
  wait(): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length > 1) return;
      this.#account();
      stream.onDrain(this.#next);
    });
  }

  /** The next goes on only if the client still takes what the one before has written. */
  readonly #next = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length === 0) this.#account();
    else setImmediate(() => this.#stream?.onDrain(this.#next));
  };
}
