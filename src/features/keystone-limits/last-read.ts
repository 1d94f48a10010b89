/**
 * What Keystone said when it was last asked: while it cannot be asked, the last answer stays in use. It is
 * asked when a controller needs the answer, at most once a minute.
 */

import { reasonOf, StatusError } from '../../errors/status-error.ts';
import { createChangedStates } from '../../lib/logger.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { SingleFlight } from '../../lib/single-flight.ts';

/** Milliseconds between two readings, and until the next one after a failure. */
const INTERVAL = 60_000;
const RETRY = 10_000;

export interface LastRead<T> {
  /** @throws StatusError KeystoneUnavailable if it was never read and cannot be read now */
  get(): Promise<T>;
  /** The last answer, without waiting for a newer one; undefined if there is none yet. */
  latest(): T | undefined;
  /** Seconds since it was read; before that, since it was first needed. Undefined: it was never needed. */
  age(): number | undefined;
}

export interface LastReadOptions<T> extends Pick<Runtime, 'clock' | 'logger'> {
  /** In the plural, for the log: `Keystone's limits`. */
  readonly what: string;
  /** @throws StatusError KeystoneUnavailable */
  readonly read: () => Promise<T>;
}

export function createLastRead<T>({ what, read, clock, logger }: LastReadOptions<T>): LastRead<T> {
  const flight = new SingleFlight<T>();
  const isNewProblem = createChangedStates();
  let last: { readonly value: T } | undefined;
  let nextAt = 0;
  let since: number | undefined;

  async function refresh(): Promise<T> {
    try {
      last = { value: await read() };
      since = clock.now();
      nextAt = since + INTERVAL;
      isNewProblem(what, '');
    } catch (error) {
      nextAt = clock.now() + RETRY;
      const reason = error instanceof StatusError ? reasonOf(error) : String(error);
      const then = last === undefined ? '' : ': those that were last read stay in use';
      if (isNewProblem(what, reason)) logger.warn({ reason }, `${what} cannot be read${then}`);
      if (last === undefined || !(error instanceof StatusError)) throw error;
    }
    return last.value;
  }

  return {
    async get() {
      since ??= clock.now();
      return last !== undefined && clock.now() < nextAt ? last.value : flight.do(what, refresh);
    },
    latest() {
      since ??= clock.now();
      // `refresh` has logged the failure, and the last answer stays in use.
      if (clock.now() >= nextAt) flight.do(what, refresh).catch(() => {});
      return last?.value;
    },
    age: () => (since === undefined ? undefined : (clock.now() - since) / 1000),
  };
}
