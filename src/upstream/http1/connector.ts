/**
 * Opens connections: TCP, TLS, and the timeout for both. The server's certificate is always verified, for the
 * name in the configured URL. TLS sessions are resumed only within one connector, since a session is bound to
 * the client certificate that it was made with. RFC 8446 §2.2.
 */
import net from 'node:net';
import tls, { TLSSocket } from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { Http1Error } from './errors.ts';

export interface ConnectOptions {
  /** `https://host:port`; `http://` for tests. */
  readonly server: string;
  /** PEM; without it those that Node trusts. */
  readonly ca?: string | Buffer;
  /** The client certificate, PEM. */
  readonly certificate?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Milliseconds for TCP and TLS together. */
  readonly connectTimeout: number;
}

/** Milliseconds of silence before the kernel sends TCP keep-alive probes. */
const TCP_KEEP_ALIVE = 30_000;

export interface Address {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of the Host field. */
  readonly authority: string;
}

export function parseServer(server: string): Address {
  const url = new URL(server);
  const secure = url.protocol === 'https:';
  return {
    secure,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    authority: url.host,
  };
}

export interface SocketOptions {
  /** Whether one direction may end before the other, as in a tunnel. */
  readonly allowHalfOpen: boolean;
  /** TLS session of an earlier connection with the same options. */
  readonly session?: Buffer | undefined;
  /**
   * Receives the bytes in a buffer that the next read overwrites. Without it the socket is read as a stream.
   */
  readonly receive?: (bytes: Buffer) => void;
}

/** Shared by all connections: no two reads happen at once. */
const RECEIVE_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

function receiveOptions(receive: (bytes: Buffer) => void): net.OnReadOpts {
  return {
    buffer: RECEIVE_BUFFER,
    callback(size) {
      receive(RECEIVE_BUFFER.subarray(0, size));
      return true;
    },
  };
}

/** @param onReady called when the first byte may be sent */
export function connect(
  options: ConnectOptions,
  { allowHalfOpen, session, receive }: SocketOptions,
  onReady: () => void,
): net.Socket {
  const { secure, host, port } = parseServer(options.server);
  const plain = { host, port, allowHalfOpen, ...(receive && { onread: receiveOptions(receive) }) };
  const secured = {
    ...plain,
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
    ...(session === undefined ? {} : { session }),
    ALPNProtocols: ['http/1.1'],
  };
  const socket = secure
    ? tls.connect({ ...secured, secureContext: secureContext(options), rejectUnauthorized: true }, onReady)
    : net.connect(plain, onReady);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEP_ALIVE);
  return socket;
}

/** One for all connections with the same options: each would parse and keep the authorities. */
const secureContext = memoizeByReference(({ ca, certificate }: ConnectOptions) =>
  tls.createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key }),
  }),
);

export interface ConnectAttempt {
  /** Fails the attempt with this error, unless it has ended. */
  cancel(error: Error): void;
}

export interface Receiver {
  /** @param bytes valid until the method returns */
  receive(bytes: Buffer): void;
}

/**
 * @param onResult called once, with an error or when the first byte may be sent, but not before the connector
 *   has returned. Returns the receiver of the bytes that arrive
 */
export type Connector = (onResult: (result: net.Socket | Error) => Receiver | undefined) => ConnectAttempt;

/** @throws Error if the authorities or the certificate are invalid: at once, not at the first request */
export function createConnector(options: ConnectOptions, clock: Clock): Connector {
  if (parseServer(options.server).secure) secureContext(options);
  let session: Buffer | undefined;
  return (onResult) => {
    let done = false;
    let receiver: Receiver | undefined;
    const receive = (bytes: Buffer): void => {
      if (receiver === undefined) socket.destroy(new Error('the server sent bytes before any request'));
      else receiver.receive(bytes);
    };
    const socket = connect(options, { allowHalfOpen: false, session, receive }, () => settle(socket));
    const timer = clock.after(options.connectTimeout, () =>
      settle(new Http1Error('CONNECT_TIMEOUT', 'connecting took too long')),
    );
    function settle(result: net.Socket | Error): void {
      if (done) return;
      done = true;
      timer.cancel();
      if (result instanceof Error) socket.destroy();
      receiver = onResult(result);
    }
    // The error listener stays: without one a later error would end the process.
    socket
      .on('error', settle)
      .once('close', () => settle(new Error('the connection was closed before it was established')));
    if (socket instanceof TLSSocket)
      socket.on('session', (renewed: Buffer) => {
        session = renewed;
      });
    return { cancel: settle };
  };
}
