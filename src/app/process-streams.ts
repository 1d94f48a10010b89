/**
 * The long-running requests of one serving process, over all its configurations.
 */

import { createDrops } from '../cache/drop-watch.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { StreamCredential } from '../flowcontrol/open-stream.ts';
import { StreamLifetimes } from '../flowcontrol/stream-lifetimes.ts';
import { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';

export interface ProcessStreams {
  readonly registry: StreamRegistry;
  /** @returns brings the next configuration into force; never throws */
  prepare(next: LoadedConfiguration): () => void;
  stop(): void;
}

/** @param recheck by the configuration in force */
export function createProcessStreams(
  loaded: LoadedConfiguration,
  adapters: Adapters,
  surroundings: Surroundings,
  recheck: (credential: StreamCredential) => Promise<void>,
): ProcessStreams {
  const dropsOf = memoizeByReference(createDrops);
  const { streams: settings } = loaded.configuration.limits;
  const registry = new StreamRegistry({ ...surroundings, limits: settings });
  const drops = dropsOf(adapters.shared(loaded));
  const lifetimes = new StreamLifetimes({ ...surroundings, registry, settings, drops, recheck });
  return {
    registry,
    prepare(next) {
      const { streams } = next.configuration.limits;
      const nextDrops = dropsOf(adapters.shared(next));
      return () => {
        registry.limits = streams;
        lifetimes.reloaded(streams, nextDrops);
      };
    },
    stop: () => lifetimes.stop(),
  };
}
