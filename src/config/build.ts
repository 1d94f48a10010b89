/**
 * The configuration and the runtime dependencies from which the components of a generation are built.
 */

import { type Clock, systemClock } from '../lib/clock.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { noTelemetry, type Telemetry } from '../lib/telemetry.ts';
import type { CoreConfiguration } from './core-configuration.ts';
import type { GenerationBuilder } from './generation.ts';
import type { LoadedConfiguration } from './load.ts';

/** The clock, randomness, log and metrics that every component gets. */
export interface RuntimeDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface Build<C extends CoreConfiguration = CoreConfiguration> {
  readonly loaded: LoadedConfiguration<C>;
  readonly runtime: RuntimeDependencies;
  readonly generation: GenerationBuilder;
}

/**
 * Runtime dependencies of a command that ends by itself. It prints its errors, so by default nothing is
 * logged.
 */
export function commandRuntime(logger: Logger = silentLogger): RuntimeDependencies {
  return { clock: systemClock, random: systemRandom, logger, telemetry: noTelemetry };
}

/**
 * Counts requests of a generation while they are served, so that what they use is not disposed. The proxy
 * counts the API's requests itself: they are in flight until they are forwarded.
 */
export function counted(
  serve: (exchange: Exchange) => Promise<void>,
  inFlight: InFlightCounter,
): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    const request = inFlight.enter();
    try {
      await serve(exchange);
    } finally {
      request.release();
    }
  };
}
