/**
 * A listener with an address of its own beside the API's. What it serves follows the configuration, its address stays as
 * it was at the start; where the configuration does not name it any more, there is nothing to be found behind it.
 */
import type { AddressInfo } from 'node:net';
import { StatusError } from '../errors/status-error.ts';
import { InFlightCounter } from '../lib/in-flight.ts';
import type { Keeping, TwoStep } from '../lib/kept.ts';
import { createListener, type ListenerOptions } from '../server/listener.ts';

type Served = Pick<ListenerOptions, 'serve' | 'tls'>;

export interface SideListenerOptions extends ListenerOptions {
  /** For people: `portal`. */
  readonly name: string;
  /** What it serves is made of these. They are as they were prepared until the first commit. */
  readonly parts: Keeping;
}

export interface SideListener extends TwoStep {
  readonly address: AddressInfo;
  /**
   * What the next commit brings into force.
   *
   * @param next undefined where it is not configured any more
   * @throws Error where its certificate cannot be used
   */
  prepare(next: Served | undefined): void;
  /** Resolves when nothing that was begun before is under way. */
  ended(): Promise<void>;
  /** @param grace milliseconds that what is under way may still take */
  close(grace: number): Promise<void>;
}

/** @throws Error where the address is taken; the parts are closed then */
export async function createSideListener(options: SideListenerOptions): Promise<SideListener> {
  const { name, parts, logger } = options;
  let current = { serve: options.serve, inUse: new InFlightCounter() };
  let prepared: (() => void) | undefined;
  /** When nobody is served any more by what was replaced. */
  let former: Promise<unknown> = Promise.resolve();
  const listener = await createListener({
    ...options,
    async serve(exchange) {
      const { serve, inUse } = current;
      const inFlight = inUse.enter();
      try {
        await serve(exchange);
      } finally {
        inFlight.release();
      }
    },
  }).catch(async (error: unknown) => {
    await parts.end();
    throw error;
  });
  return {
    address: listener.address,
    prepare(next) {
      const setTLS = next && listener.prepareTLS(next.tls);
      const serve = next?.serve ?? notConfigured(name);
      prepared = () => {
        setTLS?.();
        former = Promise.all([former, current.inUse.drained()]);
        current = { serve, inUse: new InFlightCounter() };
      };
    },
    commit() {
      prepared?.();
      prepared = undefined;
      parts.commit();
      void former.then(parts.former()).catch((error: unknown) => {
        logger.error({ error }, `ending replaced parts of the ${name} failed`);
      });
    },
    rollback() {
      prepared = undefined;
      return parts.rollback();
    },
    async ended() {
      await Promise.all([former, current.inUse.drained()]);
    },
    async close(grace) {
      await listener.close(grace);
      await parts.end();
    },
  };
}

function notConfigured(name: string): Served['serve'] {
  return async () => {
    throw new StatusError('NotFound', `the ${name} is not configured any more`);
  };
}
