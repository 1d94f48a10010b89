/**
 * Follows the policies of a configuration, so that streams of guests end soon after a policy.
 */
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { Policies } from '../policy/ports.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';

class Subscription {
  readonly #policies: Policies;
  readonly #streams: StreamRegistry;
  #end: () => void = () => {};

  constructor(policies: Policies, streams: StreamRegistry) {
    this.#policies = policies;
    this.#streams = streams;
  }

  start(): void {
    this.#end = this.#policies.onChange(() => this.#streams.onPoliciesChange());
  }

  stop(): void {
    this.#end();
  }
}

const SUBSCRIPTION = new ComponentType<Subscription>('policies of streams', {
  start: (subscription) => subscription.start(),
  stop: (subscription) => subscription.stop(),
});

/** As long as the configuration is in force. */
export function followPolicies(build: Build, policies: Policies, streams: StreamRegistry): void {
  build.generation.component(SUBSCRIPTION, { create: () => new Subscription(policies, streams) });
}
