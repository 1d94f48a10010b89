/**
 * The lifetimes of the watches that Stonegate answers itself: they end when another generation is in force.
 */

import type { Build } from '../config/build.ts';
import { ComponentType } from '../config/component.ts';
import type { GenerationBuilder } from '../config/generation.ts';
import { WatchLifetimes } from '../proxy/response/watch-lifetimes.ts';

const IN_FORCE = new ComponentType<AbortController>('own watches', {
  stop: (controller) => controller.abort(),
});

/** One for each generation: call it once. */
export function watchLifetimesOf(
  generation: GenerationBuilder,
  runtime: Pick<Build['runtime'], 'clock' | 'random'>,
): WatchLifetimes {
  const { signal } = generation.component(IN_FORCE, { create: () => new AbortController() });
  return new WatchLifetimes({ ...runtime, replaced: signal });
}
