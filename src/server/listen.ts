/**
 * Binds a server to `host:port`, written as in Kubernetes' `--bind-address` flags and Go's `net.Listen`.
 * https://pkg.go.dev/net#Listen
 */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { codeOf } from '../lib/error-code.ts';

interface BindAddress {
  /** Undefined: all addresses of the machine. */
  readonly host: string | undefined;
  readonly port: number;
}

const BIND = /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:\s]*)):(\d{1,5})$/;

/**
 * @param bind `0.0.0.0:8443`, `[::]:8443`, `:8443`; port 0 lets the system choose
 * @throws Error if the text has another form
 */
export function parseBindAddress(bind: string): BindAddress {
  const [, ipv6, name, port] = BIND.exec(bind) ?? [];
  if (port === undefined || Number(port) > 65_535)
    throw new Error(`${JSON.stringify(bind)} is no host:port to listen on`);
  return { host: ipv6 ?? (name === '' ? undefined : name), port: Number(port) };
}

/** System errors that a change of the address fixes, in words that follow the address. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'is one this process may not listen on',
};

/** The address cannot be listened on. The message is the address and the reason. */
export class AddressError extends Error {}

/**
 * @param bind `host:port`
 * @returns the actual address, with the port that the system chose for port 0
 * @throws AddressError if the address is in use, does not exist or is not permitted
 * @throws Error if `bind` is not an address, and other system errors
 */
export async function listen(server: Server, bind: string): Promise<AddressInfo> {
  const { host, port } = parseBindAddress(bind);
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    const reason = REASONS[codeOf(error) ?? ''];
    throw reason === undefined ? error : new AddressError(`${bind} ${reason}`, { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no network address');
  return address;
}
