/**
 * Components with informers. They outlive reloads that change only the connection to the API server, such as
 * a renewed credential, which they use at once.
 */

import type { Build } from '../config/build.ts';
import { ComponentType } from '../config/component.ts';
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

/** @param fingerprint what the component depends on besides the API server's address, which is added here */
export function createComponentWithInformers<T extends WithInformers>(
  { generation, loaded }: Build,
  type: ComponentType<T>,
  upstream: InformerUpstream,
  { fingerprint, create }: { readonly fingerprint: readonly unknown[]; readonly create: () => T },
): T {
  const { server } = loaded.configuration.upstream;
  const component = generation.component(type, { fingerprint: [server, ...fingerprint], create });
  generation.component(INFORMERS_UPSTREAM, {
    uses: [upstream, component],
    fingerprint: [],
    create: () => ({ connect: () => component.informers.connect(upstream) }),
  });
  return component;
}
