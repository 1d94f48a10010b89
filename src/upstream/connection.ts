/**
 * How the API server is reached: its address, whom to believe, and what to prove ourselves with. Verification of
 * its certificate is never off, and the name it must bear is the one in the configured URL.
 */
import net from 'node:net';
import tls from 'node:tls';
import { memoizeByReference } from '../lib/memoize.ts';

export type UpstreamCredential =
  | { readonly token: string }
  | { readonly cert: string | Buffer; readonly key: string | Buffer };

export interface ConnectionOptions {
  /** `https://host:port`; `http://` only where a test's server speaks it. */
  readonly server: string;
  /** PEM; without it the system's own authorities are believed. */
  readonly ca?: string | Buffer;
  /** Who the connection itself says we are. */
  readonly certificate?: Extract<UpstreamCredential, { cert: unknown }>;
  /** Milliseconds for TCP and TLS together. */
  readonly connectTimeout: number;
}

/** Of an answer's head: a workload behind the `proxy` subresource may exceed Node's default of 16 KiB. */
export const MAX_HEADER_BYTES = 64 * 1024;

/** Milliseconds of silence before the kernel asks whether anybody is still there. */
const KEEP_ALIVE_PROBE = 30_000;

export interface Address {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** As the Host field says it. */
  readonly authority: string;
}

export function addressOf(server: string): Address {
  const url = new URL(server);
  const secure = url.protocol === 'https:';
  return {
    secure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    authority: url.host,
  };
}

export interface Ends {
  /** Whether one direction may end before the other, as those of a tunnel do. */
  readonly allowHalfOpen: boolean;
  /** Of an earlier connection with the same options. */
  readonly session?: Buffer | undefined;
  /** Lent what arrives: the next read writes over it. Without it the socket is a stream to be read. */
  readonly receive?: (bytes: Buffer) => void;
}

/** Where the bytes of all connections arrive, one read at a time. */
const ARRIVING = Buffer.allocUnsafeSlow(64 * 1024);

function arrivalsTo(receive: (bytes: Buffer) => void): net.OnReadOpts {
  return {
    buffer: ARRIVING,
    callback(size) {
      receive(ARRIVING.subarray(0, size));
      return true;
    },
  };
}

/** @param onReady called when the first byte may be sent */
export function connect(
  options: ConnectionOptions,
  { allowHalfOpen, session, receive }: Ends,
  onReady: () => void,
): net.Socket {
  const { secure, host, port } = addressOf(options.server);
  const plain = { host, port, allowHalfOpen, ...(receive && { onread: arrivalsTo(receive) }) };
  const secured = {
    ...plain,
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
    ...(session === undefined ? {} : { session }),
    ALPNProtocols: ['http/1.1'],
  };
  const socket = secure
    ? tls.connect({ ...secured, secureContext: secureContextOf(options), rejectUnauthorized: true }, onReady)
    : net.connect(plain, onReady);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_PROBE);
  return socket;
}

/** @throws Error for authorities or a certificate that no connection could be made with */
export function assertUsable(options: ConnectionOptions): void {
  if (addressOf(options.server).secure) secureContextOf(options);
}

/** One for all connections of the same options: each would else read the authorities anew and keep them. */
const secureContextOf = memoizeByReference(({ ca, certificate }: ConnectionOptions) =>
  tls.createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key }),
  }),
);
