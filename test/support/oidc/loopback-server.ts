/**
 * An HTTP server on loopback that can be stopped and started again on the same port, as happens to issuers.
 */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { trackConnections } from '../track-connections.ts';

interface LoopbackServerOptions {
  readonly port?: number;
  readonly tls?: { readonly cert: string; readonly key: string };
}

export async function startLoopbackServer(listener: RequestListener, options: LoopbackServerOptions = {}) {
  const { tls } = options;
  const server = tls === undefined ? createServer(listener) : createTLSServer(tls, listener);
  const endConnections = trackConnections(server);
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(options.port ?? 0);
  const port = portOf(server.address());
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    async down() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      endConnections();
      await closed;
    },
    up: () => listen(port),
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}
