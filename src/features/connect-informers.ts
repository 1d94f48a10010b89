/**
 * Informers outlive reloads that change only the connection to the API server, such as a renewed credential.
 */

import { ComponentType } from '../config/component.ts';
import type { GenerationBuilder } from '../config/generation.ts';
import type { Informers, InformerUpstream } from '../kubernetes/informers.ts';

const INFORMERS_UPSTREAM = new ComponentType<{ connect(): void }>('upstream of informers', {
  start: (connection) => connection.connect(),
});

/** How a component that has informers runs. */
export const INFORMS = {
  start: ({ informers }: WithInformers) => informers.start(),
  stop: ({ informers }: WithInformers) => informers.stop(),
};

interface WithInformers {
  readonly informers: Informers;
}

/**
 * Connects informers with the upstream of a generation, once that is in force.
 *
 * @param component of the generation
 */
export function connectInformers(
  generation: GenerationBuilder,
  component: WithInformers,
  upstream: InformerUpstream,
): void {
  generation.component(INFORMERS_UPSTREAM, {
    uses: [upstream, component],
    fingerprint: [],
    create: () => ({ connect: () => component.informers.connect(upstream) }),
  });
}
