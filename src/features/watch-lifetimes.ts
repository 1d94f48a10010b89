/**
 * The lifetimes of the watches that Stonegate answers itself: they end when another generation is in force.
 */

import { ComponentType } from '../config/component.ts';
import type { Scope } from '../config/scope.ts';
import type { Runtime } from '../lib/runtime.ts';
import { WatchLifetimes } from '../proxy/response/watch-lifetimes.ts';

const IN_FORCE = new ComponentType<AbortController>('own watches', {
  stop: (controller) => controller.abort(),
});

/** One for each generation: call it once. */
export function watchLifetimesOf(scope: Scope, runtime: Pick<Runtime, 'clock' | 'random'>): WatchLifetimes {
  const { signal } = scope.perGeneration(IN_FORCE, [], () => new AbortController());
  return new WatchLifetimes({ ...runtime, replaced: signal });
}
