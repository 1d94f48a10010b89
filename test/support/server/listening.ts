/**
 * A listener on loopback with its own certificate, and ways to communicate with it: parsed and as raw bytes.
 */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { createConnection } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTLS, type TLSSocket } from 'node:tls';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { createListener, type ListenerOptions } from '../../../src/server/listener.ts';
import { createAuthority } from '../tls/authority.ts';

export const authority = await createAuthority();
export const certificate = await authority.server('stonegate');

export type Listening = Awaited<ReturnType<typeof startListener>>;

/** @param serve handles each exchange; by default the response is 200 with the target */
export async function startListener(
  serve: ListenerOptions['serve'] = echoTarget,
  options: Partial<ListenerOptions> = {},
) {
  const listener = await createListener({
    bind: '127.0.0.1:0',
    tls: certificate,
    http2: true,
    timeouts: { header: 10_000, idle: 60_000, stall: 60_000 },
    limits: { headerBytes: 65_536 },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    serve,
    ...options,
  });
  const { port } = listener.address;
  return {
    listener,
    port,
    /** A TLS connection that speaks HTTP/1.1 unless told otherwise. */
    async socket(settings: ConnectionOptions = {}) {
      const socket = connectTLS({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.cert,
        ALPNProtocols: ['http/1.1'],
        ...settings,
      });
      await once(socket, 'secureConnect');
      return socket;
    },
    async session() {
      const session = connect(`https://localhost:${port}`, { ca: authority.cert });
      session.on('error', () => session.destroy());
      await once(session, 'remoteSettings');
      return session;
    },
    close: () => listener.close(0),
  };
}

/** A listener that is closed after the test. */
export async function listenFor(
  test: { teardown(action: () => Promise<void>): unknown },
  serve?: ListenerOptions['serve'],
  options?: Partial<ListenerOptions>,
): Promise<Listening> {
  const listening = await startListener(serve, options);
  test.teardown(() => listening.close());
  return listening;
}

/**
 * Sends the bytes on a new connection, and again on another one if a busy machine took longer for the
 * handshake or the head than the listener allows, since Node measures both with its own clock.
 *
 * @param begun resolves when the listener serves the request
 * @returns `answers` collects everything that the listener sends on this connection
 */
export async function socketInTime<T>(
  { socket: connect }: Listening,
  bytes: string,
  begun: Promise<T>,
): Promise<{ readonly socket: TLSSocket; readonly begun: T; readonly answers: Promise<string> }> {
  for (;;) {
    const socket = await connect().catch(() => undefined);
    if (socket === undefined) continue;
    const answers = readAll(socket);
    socket.write(bytes);
    const value = await Promise.race([begun, answers.then(() => undefined)]);
    if (value !== undefined) return { socket, begun: value, answers };
  }
}

/** A connection whose bytes after the first flight are held until `release`. */
export async function heldConnection(port: number) {
  const socket = createConnection(port, '127.0.0.1');
  await once(socket, 'connect');
  const released = Promise.withResolvers<void>();
  const answered = once(socket, 'data');
  let flights = 0;
  const connection = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      flights += 1;
      const before = flights === 1 ? Promise.resolve() : released.promise;
      void before.then(() => socket.write(chunk, () => done()));
    },
    final: (done) => socket.end(() => done()),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => connection.push(chunk));
  socket.on('close', () => connection.push(null));
  socket.on('error', () => connection.destroy());
  return { connection, answered, release: () => released.resolve() };
}

export async function echoTarget({ response, target }: Exchange) {
  response.writeHead(200, [['Content-Type', 'text/plain']]);
  response.end(target);
}

/** Everything the other side sends until it ends or breaks the connection. */
export async function readAll(socket: Duplex) {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.end());
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString('latin1');
}

/** The next bytes, as text. */
export async function readSome(socket: Duplex) {
  const [chunk] = await once(socket, 'data');
  return String(chunk);
}

export type Http2Answer = Awaited<ReturnType<typeof answerOf>>;

/** Sends one request over HTTP/2 and reads the whole response. */
export async function request2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<Http2Answer> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

export async function answerOf(stream: ClientHttp2Stream) {
  const [headers] = await once(stream, 'response');
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!stream.readableEnded) await once(stream, 'end');
  return { status: headers[':status'], headers, body: Buffer.concat(chunks).toString() };
}
