/**
 * Builds what a command that ends by itself uses of a configuration, as `stonegate serve` builds it, and
 * disposes of it at the end. Nothing is started.
 */

import { Generations } from '../../config/generation.ts';
import { commandRuntime } from '../../lib/runtime.ts';
import type { LoadedStonegate, StonegateBuild } from '../configuration.ts';

/** @param run creates every component before it waits for anything: later a generation takes no more */
export async function withComponents<T>(
  loaded: LoadedStonegate,
  run: (build: StonegateBuild) => Promise<T>,
): Promise<T> {
  const runtime = commandRuntime();
  const generations = new Generations<Promise<T>>(runtime.logger);
  try {
    generations.replace((generation) => run({ loaded, runtime, generation }));
    return await generations.current;
  } finally {
    await generations.close();
  }
}
