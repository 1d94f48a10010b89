/**
 * What `stonegate cache drop` needs of the composition root: the Redis of the configuration, for one drop.
 */

import { Adapters } from './adapters.ts';
import { drop } from './cache/drop.ts';
import type { CacheDropTarget } from './cli/cache-drop.ts';
import type { LoadedConfiguration } from './config/load.ts';
import { systemClock } from './lib/clock.ts';
import { silentLogger } from './lib/logger.ts';
import { systemRandom } from './lib/random.ts';
import { noTelemetry } from './lib/telemetry.ts';

/** @throws Error where Redis does not take it; its message is for the operator */
export async function dropCached(loaded: LoadedConfiguration, target: CacheDropTarget): Promise<void> {
  const adapters = new Adapters({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  try {
    await drop(adapters.shared(loaded), target);
  } finally {
    await adapters.close();
  }
}
