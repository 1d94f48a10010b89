/**
 * The shutdown of a serving process: it becomes not ready at once, so that no new client is sent here; it
 * accepts requests until load balancers have learned of it; then the listener stops, and the components
 * behind it are closed.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
 */

import type { EventEmitter } from 'node:events';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Runtime } from '../lib/runtime.ts';

export interface ShutdownOptions extends Pick<Runtime, 'clock' | 'logger'> {
  readonly listener: { drain(): void; close(grace: number): Promise<void> };
  /** How long requests are still accepted, in milliseconds. */
  readonly drain: number;
  /** Grace period for requests in flight, in milliseconds. */
  readonly grace: number;
  /** Closed after the last response, in this order. */
  readonly afterwards: readonly { readonly name: string; close(): void | Promise<void> }[];
}

export interface Shutdown {
  /** The process is not ready as soon as the shutdown begins. */
  readonly check: ReadinessCheck;
  /**
   * Resolves when everything is closed. Further calls return the same promise.
   *
   * @param drain whether requests are accepted for a while; if not, a drain that has begun ends
   */
  begin(drain: boolean): Promise<void>;
}

export type StopSignal = 'SIGTERM' | 'SIGINT';

export function createShutdown(options: ShutdownOptions): Shutdown {
  const drained = Promise.withResolvers<void>();
  let begun: Promise<void> | undefined;
  return {
    check: {
      name: 'shutdown',
      notReadyBecause: () => (begun === undefined ? undefined : 'shutting down'),
    },
    begin(drain) {
      if (!drain) drained.resolve();
      begun ??= shutDown(options, drained);
      return begun;
    },
  };
}

/** Calls back on the signals with which Kubernetes, systemd and terminals stop a process. */
export function onStopSignal(process: EventEmitter, stop: (signal: StopSignal) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
}

async function shutDown(options: ShutdownOptions, drained: PromiseWithResolvers<void>): Promise<void> {
  const { listener, drain, grace, afterwards, clock, logger } = options;
  logger.info({ drain, grace }, 'shutting down');
  listener.drain();
  const timer = clock.after(drain, () => drained.resolve());
  await drained.promise;
  timer.cancel();
  for (const part of [{ name: 'listener', close: () => listener.close(grace) }, ...afterwards]) {
    try {
      await part.close();
    } catch (error) {
      logger.error({ error, part: part.name }, 'closing a component failed');
    }
  }
  logger.info({}, 'shut down');
}
