/**
 * A listener with an address of its own beside the API's. What it serves follows the configuration, its address stays as
 * it was at the start; where the configuration does not name it any more, there is nothing to be found behind it.
 */
import type { AddressInfo } from 'node:net';
import { StatusError } from './errors/status-error.ts';
import { Usage } from './lib/usage.ts';
import { createListener, type ListenerOptions } from './server/listener.ts';

type Served = Pick<ListenerOptions, 'serve' | 'tls'>;

/** What it serves is made of these. */
interface Parts {
  /** @returns ends what was replaced until now, to be called when nobody needs it any more */
  former(): () => Promise<void>;
  close(): Promise<void>;
}

export interface SideListenerOptions extends ListenerOptions {
  /** For people: `portal`. */
  readonly name: string;
  readonly parts: Parts;
}

export interface SideListener {
  readonly address: AddressInfo;
  /**
   * @param next undefined where it is not configured any more
   * @throws Error where its certificate cannot be used; everything stays as it was
   */
  apply(next: Served | undefined): void;
  /** Resolves when nothing that was begun before is under way. */
  ended(): Promise<void>;
  /** @param grace milliseconds that what is under way may still take */
  close(grace: number): Promise<void>;
}

/** @throws Error where the address is taken; the parts are closed then */
export async function createSideListener(options: SideListenerOptions): Promise<SideListener> {
  const { name, parts, logger } = options;
  let current = { serve: options.serve, inUse: new Usage() };
  /** When nobody is served any more by what was replaced. */
  let former: Promise<unknown> = Promise.resolve();
  const listener = await createListener({
    ...options,
    async serve(exchange) {
      const { serve, inUse } = current;
      const stay = inUse.enter();
      try {
        await serve(exchange);
      } finally {
        stay.leave();
      }
    },
  }).catch(async (error: unknown) => {
    await parts.close();
    throw error;
  });
  return {
    address: listener.address,
    apply(next) {
      if (next !== undefined) listener.setTLS(next.tls);
      former = Promise.all([former, current.inUse.ended()]);
      current = { serve: next?.serve ?? notConfigured(name), inUse: new Usage() };
      void former.then(parts.former()).catch((error: unknown) => {
        logger.error({ error }, `ending replaced parts of the ${name} failed`);
      });
    },
    async ended() {
      await Promise.all([former, current.inUse.ended()]);
    },
    async close(grace) {
      await listener.close(grace);
      await parts.close();
    },
  };
}

function notConfigured(name: string): Served['serve'] {
  return async () => {
    throw new StatusError('NotFound', `the ${name} is not configured any more`);
  };
}
