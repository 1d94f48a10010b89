/**
 * What the parts of a generation are built with.
 */

import { type Clock, systemClock } from '../lib/clock.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { type Random, systemRandom } from '../lib/random.ts';
import { noTelemetry, type Telemetry } from '../lib/telemetry.ts';
import type { GenerationBuilder } from './generation.ts';
import type { LoadedConfiguration } from './load.ts';

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

/** What a command that ends by itself is given. It prints its errors, so by default nothing is logged. */
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
