/**
 * Binds a server to its address.
 */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { parseBindAddress } from './bind-address.ts';

/** What whoever wrote the address can mend, in words that continue it. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'is one this process may not listen on',
};

/** Nobody can listen there. The message says why, the address first. */
export class AddressError extends Error {
  /** `host:port` as it was asked for. */
  readonly bind: string;
  /** The system's: `EADDRINUSE`, … */
  readonly code: string;

  constructor(bind: string, code: string, reason: string, cause: unknown) {
    super(`${bind} ${reason}`, { cause });
    this.bind = bind;
    this.code = code;
  }
}

/**
 * @param bind `host:port`
 * @returns where it listens, the port chosen where 0 was asked for
 * @throws AddressError where the address is taken, is not there or may not be used
 * @throws Error where the text is no address, or whatever else the system says
 */
export async function listen(server: Server, bind: string): Promise<AddressInfo> {
  const { host, port } = parseBindAddress(bind);
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = REASONS[code];
    throw reason === undefined ? error : new AddressError(bind, code, reason, error);
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no network address');
  return address;
}
