/**
 * Binds a server to its address.
 */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { BindAddress } from './bind-address.ts';

/**
 * @returns where it listens, the port chosen where 0 was asked for
 * @throws Error of the system: address in use, no permission, …
 */
export async function listen(server: Server, { host, port }: BindAddress): Promise<AddressInfo> {
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no network address');
  return address;
}
