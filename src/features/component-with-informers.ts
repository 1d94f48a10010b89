/**
 * Components with informers. They outlive reloads that change only the connection to the API server, such as
 * a renewed credential, which they use at once.
 */

import { ComponentType, type Handle } from '../config/component.ts';
import type { Part, Scope } from '../config/scope.ts';
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

/** @param part has the API server's address, whose objects the component knows */
export function createComponentWithInformers<T extends WithInformers, P extends Part>(
  scope: Scope,
  type: ComponentType<T>,
  part: P,
  upstream: Handle<InformerUpstream>,
  create: (part: P) => T,
): Handle<T> {
  const component = scope.component(type, part, [], create);
  scope.derived(INFORMERS_UPSTREAM, [upstream, component], () => ({
    connect: () => component.informers.connect(upstream),
  }));
  return component;
}
