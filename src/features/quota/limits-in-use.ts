/**
 * Keystone's limits as they were last read: while Keystone cannot be asked, the last ones stay in use. They
 * are read when a controller needs them, at most twice a minute.
 */
import { reasonOf, StatusError } from '../../errors/status-error.ts';
import type { KeystoneLimits } from '../../identity/keystone/keystone-limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { createChangedStates, type Logger } from '../../lib/logger.ts';
import { SingleFlight } from '../../lib/single-flight.ts';
import type { Telemetry } from '../../lib/telemetry.ts';

/** Milliseconds between two readings. */
const INTERVAL = 30_000;

export interface LimitsInUse {
  /** @throws StatusError KeystoneUnavailable if they were never read and cannot be read now */
  get(): Promise<KeystoneLimits>;
  close(): void;
}

export interface LimitsInUseOptions {
  /** @throws StatusError KeystoneUnavailable */
  readonly read: () => Promise<KeystoneLimits>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Pick<Telemetry, 'keystoneLimitsInUse'>;
}

export function createLimitsInUse({ read, clock, logger, telemetry }: LimitsInUseOptions): LimitsInUse {
  const flight = new SingleFlight<KeystoneLimits>();
  const isNewProblem = createChangedStates();
  let current: KeystoneLimits | undefined;
  let nextAt = 0;
  /** When they were read; before that, when they were first asked for. */
  let readAt: number | undefined;
  let endMetric = () => {};

  async function refresh(): Promise<KeystoneLimits> {
    try {
      current = await read();
      readAt = clock.now();
      isNewProblem('limits', '');
    } catch (error) {
      if (current === undefined || !(error instanceof StatusError)) throw error;
      const reason = reasonOf(error);
      if (isNewProblem('limits', reason))
        logger.warn({ reason }, "Keystone's limits cannot be read: those that were last read stay in use");
    }
    nextAt = clock.now() + INTERVAL;
    return current;
  }

  return {
    async get() {
      if (readAt === undefined) {
        readAt = clock.now();
        endMetric = telemetry.keystoneLimitsInUse(() => (clock.now() - (readAt ?? 0)) / 1000);
      }
      return current !== undefined && clock.now() < nextAt ? current : flight.do('limits', refresh);
    },
    close: () => endMetric(),
  };
}
