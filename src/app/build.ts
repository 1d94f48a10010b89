/**
 * What the parts of a generation are built with.
 */
import type { LoadedConfiguration } from '../config/load.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { noTelemetry, type Telemetry } from '../lib/telemetry.ts';
import type { GenerationBuilder } from './generation.ts';

/** What every component is given. */
export interface RuntimeDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface Build {
  readonly loaded: LoadedConfiguration;
  readonly runtime: RuntimeDependencies;
  readonly generation: GenerationBuilder;
}

/** For a command that ends by itself. It prints its errors, so by default nothing is logged. */
export function commandRuntime(logger: Logger = silentLogger): RuntimeDependencies {
  return { clock: systemClock, random: systemRandom, logger, telemetry: noTelemetry };
}
