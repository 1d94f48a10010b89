/** How a program of the benchmark tells that it is ready: one line with its port. */
import type { Server } from 'node:net';

export function announce(server: Server): void {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  console.log(JSON.stringify({ port: address.port }));
}
