/**
 * The lifetimes of the watches that Stonegate answers itself: they end when another generation is in force.
 */
import { WatchLifetimes } from '../pipeline/response/watch-lifetimes.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import type { GenerationBuilder } from './generation.ts';

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
