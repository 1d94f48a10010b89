/**
 * The clock, randomness, log and metrics of a process, which most components get.
 */
import { type Clock, systemClock } from './clock.ts';
import { type Logger, silentLogger } from './logger.ts';
import { type Random, systemRandom } from './random.ts';
import { noTelemetry, type Telemetry } from './telemetry.ts';

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** Commands that end by themselves use this. They print their errors, so by default they log nothing. */
export function commandRuntime(logger: Logger = silentLogger): Runtime {
  return { clock: systemClock, random: systemRandom, logger, telemetry: noTelemetry };
}
