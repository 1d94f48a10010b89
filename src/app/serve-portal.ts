/**
 * The portal's listener: an address of its own beside the API's, over HTTP/1.1, whose Host field says which origin the
 * browser means.
 */
import type { AddressInfo } from 'node:net';
import type { LoadedConfiguration } from '../config/load.ts';
import type { TwoStep } from '../lib/kept.ts';
import type { Stages } from '../pipeline/stages.ts';
import type { TLSMaterial } from '../server/tls-material.ts';
import type { Adapters } from './adapters.ts';
import type { Surroundings } from './made-of.ts';
import { PortalParts } from './portal-parts.ts';
import { createSideListener } from './side-listener.ts';

export interface PortalService extends TwoStep {
  readonly address: AddressInfo;
  /**
   * What the next commit brings into force. Its `bind` stays as it was at the start.
   *
   * @throws Error where it cannot be used
   */
  prepare(loaded: LoadedConfiguration, stages: Stages): void;
  /** Resolves when no page that was begun with a former configuration is under way. */
  ended(): Promise<void>;
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
  const listener = await createSideListener({
    ...around,
    name: 'portal',
    parts: parts.kept,
    bind: portal.bind,
    tls: tlsOf(loaded, portal.tls),
    http2: false,
    timeouts: server.timeouts,
    limits: server.limits,
    serve: parts.portal(loaded, portal, stages),
  });
  return {
    address: listener.address,
    prepare(next, nextStages) {
      const configured = next.configuration.portal;
      listener.prepare(
        configured && {
          serve: parts.portal(next, configured, nextStages),
          tls: tlsOf(next, configured.tls),
        },
      );
    },
    commit: () => listener.commit(),
    rollback: () => listener.rollback(),
    ended: () => listener.ended(),
    close: (grace) => listener.close(grace),
  };
}

function tlsOf(
  loaded: LoadedConfiguration,
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
): TLSMaterial {
  return { cert: loaded.file(certFile), key: loaded.file(keyFile) };
}
