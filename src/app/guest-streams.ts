/**
 * Follows the policies of a configuration, so that streams of guests end soon after a policy.
 */
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { Policies } from '../policy/ports.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';

interface Subscription {
  start(): void;
  stop(): void;
}

const SUBSCRIPTION = new ComponentType<Subscription>('policies of streams', {
  start: (subscription) => subscription.start(),
  stop: (subscription) => subscription.stop(),
});

/** As long as the configuration is in force. */
export function followPolicies({ generation }: Build, policies: Policies, streams: StreamRegistry): void {
  generation.component(SUBSCRIPTION, {
    create() {
      let end = () => {};
      return {
        start() {
          end = policies.onChange(() => streams.onPoliciesChange());
        },
        stop: () => end(),
      };
    },
  });
}
