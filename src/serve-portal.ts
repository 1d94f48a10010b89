/**
 * The portal's listener: an address of its own beside the API's, over HTTP/1.1, whose Host field says which origin the
 * browser means.
 */
import type { AddressInfo } from 'node:net';
import type { Adapters } from './adapters.ts';
import type { LoadedConfiguration } from './config/load.ts';
import { StatusError } from './errors/status-error.ts';
import { Usage } from './lib/usage.ts';
import type { Surroundings } from './made-of.ts';
import type { Exchange } from './pipeline/exchange.ts';
import type { Stages } from './pipeline/stages.ts';
import { PortalParts } from './portal-parts.ts';
import { createListener } from './server/listener.ts';
import type { TLSMaterial } from './server/tls-material.ts';

export interface PortalService {
  readonly address: AddressInfo;
  /** Takes a new configuration. Its `bind` stays as it was at the start. */
  apply(loaded: LoadedConfiguration, stages: Stages): void;
  /** @param grace milliseconds that pages under way may still take */
  close(grace: number): Promise<void>;
}

/**
 * @returns undefined where no portal is configured
 * @throws Error where the address is taken
 */
export async function startPortal(
  loaded: LoadedConfiguration,
  stages: Stages,
  adapters: Adapters,
  around: Surroundings,
): Promise<PortalService | undefined> {
  const { portal, server } = loaded.configuration;
  if (portal === undefined) return undefined;
  const parts = new PortalParts(around, adapters);
  const inUse = new Usage<Exchange>();
  let serve = parts.portal(loaded, portal, stages);
  const listener = await createListener({
    ...around,
    bind: portal.bind,
    tls: tlsOf(loaded, portal.tls),
    http2: false,
    timeouts: server.timeouts,
    limits: server.limits,
    async serve(exchange) {
      inUse.enter(exchange);
      try {
        await serve(exchange);
      } finally {
        inUse.leave(exchange);
      }
    },
  }).catch(async (error: unknown) => {
    await parts.close();
    throw error;
  });
  return {
    address: listener.address,
    apply(next, nextStages) {
      const configured = next.configuration.portal;
      if (configured === undefined) {
        serve = async () => {
          throw new StatusError('NotFound', 'the portal is not configured any more');
        };
        return;
      }
      const built = parts.portal(next, configured, nextStages);
      listener.setTLS(tlsOf(next, configured.tls));
      serve = built;
      void inUse
        .ended()
        .then(parts.former())
        .catch((error: unknown) => {
          around.logger.error({ error }, 'ending replaced parts of the portal failed');
        });
    },
    async close(grace) {
      await listener.close(grace);
      await parts.close();
    },
  };
}

function tlsOf(
  loaded: LoadedConfiguration,
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
): TLSMaterial {
  return { cert: loaded.file(certFile), key: loaded.file(keyFile) };
}
