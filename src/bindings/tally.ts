/**
 * Counts what was done and what was not, and tells it as it goes. Refusals of the API server are counted; a mistake of
 * our own ends the run.
 */
import { reasonOf, StatusError } from '../errors/status-error.ts';
import type { Change } from './plan.ts';
import { NotOurs } from './write-object.ts';

export interface Failure {
  readonly change: Change;
  readonly reason: string;
}

export interface Progress {
  readonly change: Change;
  /** Why it could not be done; absent where it was. */
  readonly failure?: string;
  readonly finished: number;
  readonly total: number;
}

export interface Tally {
  readonly failures: readonly Failure[];
  done(): number;
  attempt(change: Change, work: () => Promise<void>): Promise<void>;
  /** For changes that were done and may turn out not to hold. */
  attemptAgain(changes: readonly Change[], work: () => Promise<void>): Promise<void>;
}

export interface TallyOptions {
  /** Told of each change when it is over. */
  readonly onProgress?: (progress: Progress) => void;
  /** Nothing further is begun once it is aborted. */
  readonly signal: AbortSignal;
}

export function createTally(total: number, { onProgress, signal }: TallyOptions): Tally {
  const failures: Failure[] = [];
  let done = 0;

  function count(change: Change, failure: string | undefined): void {
    if (failure === undefined) done += 1;
    else failures.push({ change, reason: failure });
    const finished = done + failures.length;
    onProgress?.({ change, finished, total, ...(failure !== undefined && { failure }) });
  }

  return {
    failures,
    done: () => done,
    async attempt(change, work) {
      count(change, signal.aborted ? 'it was broken off before' : await failureOf(work));
    },
    async attemptAgain(changes, work) {
      const failure = await failureOf(work);
      if (failure === undefined) return;
      done -= changes.length;
      for (const change of changes) count(change, failure);
    },
  };
}

async function failureOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof NotOurs) return error.message;
    if (!(error instanceof StatusError)) throw error;
    return reasonOf(error);
  }
}
