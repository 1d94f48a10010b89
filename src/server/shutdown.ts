/**
 * The shutdown of a serving process: it becomes not ready at once, so that no new client is sent here; then
 * the listener drains; then the components behind it are closed.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
 */
import type { EventEmitter } from 'node:events';
import type { Logger } from '../lib/logger.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';

export interface ShutdownOptions {
  readonly listener: { close(grace: number): Promise<void> };
  /** Grace period for requests in flight, in milliseconds. */
  readonly grace: number;
  /** Closed after the last response, in this order. */
  readonly afterwards: readonly { readonly name: string; close(): void | Promise<void> }[];
  readonly logger: Logger;
}

export interface Shutdown {
  /** Not ready as soon as the shutdown begins. */
  readonly check: ReadinessCheck;
  /** Resolves when everything is closed. Further calls return the same promise. */
  begin(): Promise<void>;
}

export function createShutdown(options: ShutdownOptions): Shutdown {
  let begun: Promise<void> | undefined;
  return {
    check: {
      name: 'shutdown',
      notReadyBecause: () => (begun === undefined ? undefined : 'shutting down'),
    },
    begin() {
      begun ??= shutDown(options);
      return begun;
    },
  };
}

/** Calls back on the signals with which Kubernetes, systemd and terminals stop a process. */
export function onStopSignal(process: EventEmitter, stop: (signal: string) => void): void {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal));
}

async function shutDown({ listener, grace, afterwards, logger }: ShutdownOptions): Promise<void> {
  logger.info({ grace }, 'shutting down');
  for (const part of [{ name: 'listener', close: () => listener.close(grace) }, ...afterwards]) {
    try {
      await part.close();
    } catch (error) {
      logger.error({ error, part: part.name }, 'closing a component failed');
    }
  }
  logger.info({}, 'shut down');
}
