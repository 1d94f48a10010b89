/**
 * Checks periodically that the API server can be reached and accepts Stonegate's credential, by `/version`,
 * which every API server has; Arktos has no `/readyz`. Requests are forwarded even while the API server's own
 * storage is failing.
 */

import { StatusError } from '../errors/status-error.ts';
import type { Timer } from '../lib/clock.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { UpstreamFetcher } from './upstream-ports.ts';
import { ownGet } from './upstream-request.ts';

export interface ApiServerProbe extends ReadinessCheck {
  /** Probes now and stores the result; never throws. */
  probe(): Promise<void>;
  /** Probes now and after every interval. */
  start(): void;
  stop(): void;
}

export interface ApiServerProbeOptions extends Pick<Runtime, 'clock' | 'logger'> {
  /** Called for each probe, since a reload creates a new one. */
  readonly fetcher: () => UpstreamFetcher;
  /** Called when the API server has become ready, also for the first time. */
  readonly onReady: (signal: AbortSignal) => void;
  /** Milliseconds from the end of one probe to the next. */
  readonly interval: number;
}

export function createApiServerProbe(options: ApiServerProbeOptions): ApiServerProbe {
  const { fetcher, clock, logger, onReady, interval } = options;
  const stopped = new AbortController();
  let problem: string | undefined = 'not asked yet';
  let timer: Timer | undefined;

  async function probe(): Promise<void> {
    const found = await askForVersion(fetcher(), stopped.signal);
    if (found?.problem !== problem && !stopped.signal.aborted) {
      if (found === undefined) {
        logger.info({}, 'the API server is ready');
        onReady(stopped.signal);
      } else logger.warn({ error: found.cause, problem: found.problem }, 'the API server is not ready');
    }
    problem = found?.problem;
  }

  function start(): void {
    void probe().then(() => {
      if (!stopped.signal.aborted) timer = clock.after(interval, start);
    });
  }

  return {
    name: 'upstream',
    notReadyBecause: () => problem,
    probe,
    start,
    stop() {
      stopped.abort();
      timer?.cancel();
    },
  };
}

interface Finding {
  readonly problem: string;
  /** The cause, for the log alone. */
  readonly cause?: unknown;
}

/** @returns undefined on success */
async function askForVersion(fetcher: UpstreamFetcher, signal: AbortSignal): Promise<Finding | undefined> {
  try {
    const { status } = await fetcher.fetch(ownGet('/version'), signal);
    return status === 200 ? undefined : { problem: `GET /version was answered with ${status}` };
  } catch (error) {
    if (error instanceof StatusError) return { problem: error.message, cause: error.cause };
    return { problem: 'the API server could not be asked', cause: error };
  }
}
