/**
 * The configuration and the runtime dependencies from which the components of a generation are built.
 */

import type { Exchange } from '../lib/exchange.ts';
import type { InFlightCounter } from '../lib/in-flight.ts';
import type { Runtime } from '../lib/runtime.ts';
import type { CoreConfiguration } from './core-configuration.ts';
import type { GenerationBuilder } from './generation.ts';
import type { LoadedConfiguration } from './load.ts';

export interface Build<C extends CoreConfiguration = CoreConfiguration> {
  readonly loaded: LoadedConfiguration<C>;
  readonly runtime: Runtime;
  readonly generation: GenerationBuilder;
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
