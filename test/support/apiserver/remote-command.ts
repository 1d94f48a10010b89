/**
 * exec, attach and port-forward as the kubelet serves them: over SPDY/3.1, and over WebSocket with the
 * channel protocols v4 and v5 and with SPDY tunnelled inside.
 * https://kubernetes.io/docs/reference/generated/kubernetes-api/ (pods/exec), KEP-4006
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type Duplex, PassThrough, Writable } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { type CommandIO, runCommand } from './commands.ts';
import type { JsonObject } from './json.ts';
import type { Pod } from './pods.ts';
import { SpdyConnection, type SpdyStream } from './spdy.ts';
import { ApiError, badRequest } from './statuses.ts';

const CHANNEL_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const SPDY_PROTOCOL = 'v4.channel.k8s.io';
const FORWARD_PROTOCOL = 'portforward.k8s.io';
const TUNNELLED_FORWARD = 'SPDY/3.1+portforward.k8s.io';
const CLOSE_CHANNEL = 255;
/**
 * Milliseconds until a command begins over WebSocket. A kubelet needs them to start a process, and client-go
 * drops what it receives before it has set up its streams.
 */
const START = 20;

export type RemoteKind = 'exec' | 'attach' | 'portforward';

/** The streams of a running command, independent of the transport. */
interface Channels extends CommandIO {
  /** Sends the outcome and ends the connection once everything has been sent. */
  finish(status: JsonObject): void;
}

const wanted = (query: URLSearchParams, name: string) => ['true', '1'].includes(query.get(name) ?? '');

/**
 * Takes over an upgraded socket. The caller has authorized the request and knows that the pod runs.
 *
 * @throws ApiError 400 or 403 if the request offers none of the protocols; nothing has been written then
 */
export function serveRemote(
  kind: RemoteKind,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  query: URLSearchParams,
  pod: Pod,
) {
  const upgrade = (request.headers.upgrade ?? '').toLowerCase();
  if (upgrade === 'spdy/3.1') overSpdy(kind, request, socket, head, query, pod);
  else if (upgrade === 'websocket') overWebSocket(kind, request, socket, head, query, pod);
  else throw badRequest('Upgrade request required');
}

function overSpdy(
  kind: RemoteKind,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  query: URLSearchParams,
  pod: Pod,
) {
  const protocol = kind === 'portforward' ? FORWARD_PROTOCOL : SPDY_PROTOCOL;
  const offered = request.headersDistinct['x-stream-protocol-version'] ?? [];
  if (!offered.flatMap((value) => value.split(/,\s*/)).includes(protocol))
    throw new ApiError(
      403,
      'Forbidden',
      `unable to negotiate protocol: client supports [${offered.join(' ')}]`,
      {},
    );
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  const connection = new SpdyConnection(socket, head);
  if (kind === 'portforward') forwardPorts(connection, pod);
  else gatherStreams(connection, query, (channels) => run(kind, query, channels, pod));
}

function overWebSocket(
  kind: RemoteKind,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  query: URLSearchParams,
  pod: Pod,
) {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(/,\s*/);
  const known = kind === 'portforward' ? [TUNNELLED_FORWARD] : CHANNEL_PROTOCOLS;
  const protocol = known.find((one) => offered.includes(one));
  if (protocol === undefined) throw badRequest(`unable to upgrade: offer one of ${known.join(', ')}`);
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  server.handleUpgrade(request, socket, head, (webSocket) => {
    if (kind === 'portforward') {
      forwardPorts(new SpdyConnection(createWebSocketStream(webSocket), Buffer.alloc(0)), pod);
      return;
    }
    const channels = webSocketChannels(webSocket, query, protocol);
    setTimeout(run, START, kind, query, channels, pod);
  });
}

/** Waits until the client has opened every stream that its query requests. */
function gatherStreams(
  connection: SpdyConnection,
  query: URLSearchParams,
  start: (channels: Channels) => void,
) {
  const tty = wanted(query, 'tty');
  const expected = [
    'error',
    ...['stdin', 'stdout', 'stderr'].filter((name) => wanted(query, name) && !(tty && name === 'stderr')),
    ...(tty ? ['resize'] : []),
  ];
  const streams = new Map<string, SpdyStream>();
  const gone = new AbortController();
  connection.once('close', () => gone.abort());
  connection.on('stream', (stream) => {
    streams.set(stream.headers.streamtype ?? '', stream);
    if (streams.size < expected.length) return;
    streams.get('resize')?.resume();
    const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
    const stdout = streams.get('stdout') ?? nowhere();
    start({
      stdin: streams.get('stdin'),
      stdout,
      stderr: streams.get('stderr') ?? (tty ? stdout : nowhere()),
      signal: gone.signal,
      finish(status) {
        streams.get('error')?.end(JSON.stringify(status));
        for (const name of ['stdout', 'stderr']) streams.get(name)?.end();
        const open = [...streams.values()].filter(
          (one) =>
            !one.writableFinished &&
            one.headers.streamtype !== 'resize' &&
            one.headers.streamtype !== 'stdin',
        );
        void Promise.all(open.map((one) => once(one, 'finish'))).then(
          () => connection.end(),
          () => connection.end(),
        );
      },
    });
  });
}

/** Each message begins with its channel: 0 stdin, 1 stdout, 2 stderr, 3 the outcome, 4 the terminal size. */
function webSocketChannels(webSocket: WebSocket, query: URLSearchParams, protocol: string): Channels {
  const stdin = new PassThrough();
  const gone = new AbortController();
  webSocket.on('message', (data) => {
    const message = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
    if (message[0] === 0) stdin.write(message.subarray(1));
    else if (message[0] === CLOSE_CHANNEL && message[1] === 0) stdin.end();
  });
  webSocket.on('close', () => {
    gone.abort();
    stdin.end();
  });
  webSocket.on('error', () => webSocket.terminate());
  const channel = (number: number): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (webSocket.readyState !== webSocket.OPEN) done();
        else webSocket.send(Buffer.concat([Buffer.from([number]), chunk]), () => done());
      },
    });
  const stdout = channel(1);
  // A terminal has one output stream, and kubectl expects no other channel then.
  const stderr = wanted(query, 'tty') ? stdout : channel(2);
  const outcome = channel(3);
  // Only v5 can signal the end of stdin; otherwise a command that reads to the end waits for the client.
  if (!wanted(query, 'stdin')) stdin.end();
  return {
    stdin: wanted(query, 'stdin') ? stdin : undefined,
    stdout,
    stderr,
    signal: gone.signal,
    finish(status) {
      stdout.end();
      stderr.end();
      outcome.end(JSON.stringify(status), () =>
        webSocket.close(1000, protocol === 'v5.channel.k8s.io' ? '' : undefined),
      );
    },
  };
}

function run(kind: RemoteKind, query: URLSearchParams, channels: Channels, pod: Pod) {
  const outcome =
    kind === 'exec' ? runCommand(query.getAll('command'), channels, pod) : attach(channels, pod);
  outcome.then(
    (code) => channels.finish(code === 0 ? { metadata: {}, status: 'Success' } : exitStatus(code)),
    (error: unknown) => {
      if (!channels.signal.aborted) channels.finish(failure(error));
    },
  );
}

/** Shows the pod's log and echoes the input, until the client closes its side or disconnects. */
async function attach({ stdin, stdout, signal }: CommandIO, pod: Pod) {
  for (const line of pod.log.lines) stdout.write(`${line.text}\n`);
  const stop = pod.log.follow(
    (line) => stdout.write(`${line.text}\n`),
    () => {},
  );
  try {
    if (stdin) for await (const chunk of stdin) stdout.write(chunk);
    else await once(signal, 'abort');
  } finally {
    stop();
  }
  return 0;
}

function exitStatus(code: number): JsonObject {
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: command terminated with exit code ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

function failure(error: unknown): JsonObject {
  const message = error instanceof Error ? error.message : String(error);
  return { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
}

/** Each forwarded connection is a pair of streams, `data` and `error`, with the port in their headers. */
function forwardPorts(connection: SpdyConnection, pod: Pod) {
  const errors = new Map<string, SpdyStream>();
  connection.on('stream', (stream) => {
    const id = stream.headers.requestid ?? '';
    if (stream.headers.streamtype === 'error') {
      errors.set(id, stream);
      stream.resume();
      return;
    }
    stream.once('close', () => {
      errors.get(id)?.end();
      errors.delete(id);
    });
    pod.connect(Number(stream.headers.port), stream);
  });
}
