/** Ports on loopback that nobody listens on. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * @param wanted 0 lets the system choose
 * @returns `wanted` where it is free, else one that the system chose; free at least until now
 */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer();
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return freePort(0);
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}
