/**
 * The trace of the request that is being served, for the code that serves it. The feature `traces` runs each
 * request with one; without the feature there is none, and asking for it costs next to nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { HeaderList } from './header-list.ts';
import type { Backend, BackendResult } from './telemetry.ts';

export interface RequestTrace {
  /** A stage of the lifecycle begins; the one before it has ended. */
  stage(name: string): void;
  /** @returns undefined once the request has ended: its work may have begun other work */
  call(backend: Backend): TracedCall | undefined;
}

/** A call to a backend, from its begin on. */
export interface TracedCall {
  /**
   * Puts the context of the trace on a request, in place of the client's.
   * https://www.w3.org/TR/trace-context/
   */
  propagate(headers: HeaderList): HeaderList;
  end(result: BackendResult): void;
}

const storage = new AsyncLocalStorage<RequestTrace>();

/** Call it where a piece of work begins: a callback of a shared connection belongs to another request. */
export function currentTrace(): RequestTrace | undefined {
  return storage.getStore();
}

/** Runs work that belongs to no request, such as that of a timer. */
export function untraced<T>(work: () => T): T {
  return storage.getStore() === undefined ? work() : storage.exit(work);
}

export function runTraced<T>(trace: RequestTrace, work: () => T): T {
  return storage.run(trace, work);
}
