/**
 * A stand-in API server in this process, for tests and the demo: an Arktos with tenants in its paths, or an
 * ordinary Kubernetes. It computes its answers from stored objects, roles and bindings;
 * `test/conformance/arktos` holds it to what a real server answered. It listens on loopback only.
 */
import { EventEmitter, on, once } from 'node:events';
import {
  createServer as createHTTPServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../src/lib/clock.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { sendJSON, sendText, type Upgraded } from './exchange.ts';
import { type Fault, type FaultKind, misbehave } from './faults.ts';
import type { Flavour } from './kinds.ts';
import { createSeed, furnishCluster, type Seed } from './seed.ts';
import { serveRequest } from './serve-request.ts';
import { ApiError, PlainError } from './statuses.ts';
import type { TokenUser, User } from './users.ts';

export interface ApiServerOptions {
  readonly flavour: Flavour;
  /** Without it plain HTTP. */
  readonly tls?: {
    readonly key: string | Buffer;
    readonly cert: string | Buffer;
    readonly clientCA?: string | Buffer;
  };
  /** 0, the default, lets the system choose. */
  readonly port?: number;
  readonly tokens?: Readonly<Record<string, TokenUser>>;
  /** Gives every new pod a node, so that it runs at once; true unless said otherwise. */
  readonly schedulesPods?: boolean;
  /**
   * What `/version` says. Without it that of the recorded Arktos, which was built without a version: kubectl
   * cannot read it.
   */
  readonly gitVersion?: string | undefined;
  /** By which webhooks are called no more often than Arktos does it; the system's without it. */
  readonly clock?: Clock | undefined;
  /** Called with each request as it arrives. */
  readonly onRequest?: (request: LoggedRequest) => void;
}

/** What arrived, for tests to look at. */
export interface LoggedRequest {
  readonly method: string;
  /** The request target, exactly as it came. */
  readonly url: string;
  /** Names and values in turn, exactly as they came. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** After impersonation; undefined until, or unless, the request was authenticated. */
  user: User | undefined;
  /** Settles when the exchange is over: `answered`, or `aborted` where the connection broke off first. */
  readonly ended: Promise<'answered' | 'aborted'>;
}

export interface ApiServer {
  /** `https://127.0.0.1:port`, or `http://…` without TLS. */
  readonly url: string;
  readonly port: number;
  readonly cluster: Cluster;
  readonly seed: Seed;
  readonly requests: LoggedRequest[];
  /** The first request, already here or still to come, of which `matches` is true. */
  arrival(matches: (request: LoggedRequest) => boolean): Promise<LoggedRequest>;
  /** How many connections are open. */
  readonly connections: number;
  /** Makes the next request go wrong, or the next that `applies` to. */
  breakNext(kind: FaultKind, applies?: (request: IncomingMessage) => boolean): void;
  /** Ends every watch and every followed log in good order. */
  endWatches(): void;
  /**
   * Breaks every connection and stops listening, but keeps all objects; `start` listens again on the same
   * port.
   */
  stop(): Promise<void>;
  start(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

const LARGEST_HEADER = 1024 * 1024;

/** Starts a server with an empty, freshly furnished cluster. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { flavour, schedulesPods = true, gitVersion, clock } = options;
  const cluster = createCluster(flavour, { schedulesPods, gitVersion, clock });
  const seed = createSeed(cluster);
  furnishCluster(cluster, seed);
  for (const [token, user] of Object.entries(options.tokens ?? {})) seed.token(token, user);
  const requests: LoggedRequest[] = [];
  const arrivals = new EventEmitter<{ request: [LoggedRequest] }>().setMaxListeners(0);
  const faults: Fault[] = [];
  const sockets = new Set<Socket>();
  let ending = new AbortController();
  let port = options.port ?? 0;

  const handle = (
    request: IncomingMessage,
    response: ServerResponse,
    upgrade: Upgraded | undefined,
  ): void => {
    const logged = log(request, response, upgrade);
    requests.push(logged);
    options.onRequest?.(logged);
    arrivals.emit('request', logged);
    const at = faults.findIndex(({ applies }) => applies(request));
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.kind;
    if (fault !== undefined && fault !== 'no-rights') {
      misbehave(fault, response);
      return;
    }
    const address = `127.0.0.1:${port}`;
    const asked = fault === undefined ? cluster : withoutRights(cluster);
    serveRequest({ cluster: asked, request, response, upgrade, address, ending: ending.signal }, (user) => {
      logged.user = user;
    }).catch((error: unknown) => sendError(response, error));
  };

  let server = build();
  function build(): Server {
    const listener: RequestListener = (request, response) => handle(request, response, undefined);
    const common = { maxHeaderSize: LARGEST_HEADER, requestTimeout: 0, keepAliveTimeout: 60_000 };
    const { tls } = options;
    const built = tls
      ? createTLSServer(
          {
            ...common,
            key: tls.key,
            cert: tls.cert,
            ...(tls.clientCA ? { ca: tls.clientCA, requestCert: true, rejectUnauthorized: false } : {}),
          },
          listener,
        )
      : createHTTPServer(common, listener);
    built.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    built.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const response = new ServerResponse(request);
      answerOn(socket, response);
      handle(request, response, { socket, head });
    });
    return built;
  }

  const apiServer: ApiServer = {
    get url() {
      return `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get connections() {
      return sockets.size;
    },
    cluster,
    seed,
    requests,
    async arrival(matches) {
      const known = requests.find(matches);
      if (known !== undefined) return known;
      for await (const [request] of on(arrivals, 'request')) if (matches(request)) return request;
      throw new Error('the server has gone');
    },
    breakNext: (kind, applies = () => true) => faults.push({ kind, applies }),
    endWatches() {
      ending.abort();
      ending = new AbortController();
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async start() {
      server = build();
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      port = portOf(server.address());
    },
    async restart() {
      await apiServer.stop();
      await apiServer.start();
    },
    async close() {
      if (server.listening) await apiServer.stop();
      cluster.close();
    },
  };
  await apiServer.start();
  return apiServer;
}

function withoutRights(cluster: Cluster): Cluster {
  const rbac: Cluster['rbac'] = {
    authorize: () => ({ allowed: false, denied: false, reason: '' }),
    rulesFor: () => [],
  };
  return { ...cluster, rbac };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}

/**
 * Ties a response to a socket that asked to leave HTTP, so that a refusal can be written; then it is closed.
 */
function answerOn(socket: Duplex, response: ServerResponse): void {
  socket.on('error', () => socket.destroy());
  response.shouldKeepAlive = false;
  response.once('finish', () => socket.end());
  if (socket instanceof Socket) response.assignSocket(socket);
}

function log(
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgraded | undefined,
): LoggedRequest {
  const { method = '', url = '', rawHeaders, headers } = request;
  const ended = new Promise<'answered' | 'aborted'>((resolve) => {
    if (upgrade) upgrade.socket.once('close', () => resolve('answered'));
    else response.once('close', () => resolve(response.writableFinished ? 'answered' : 'aborted'));
  });
  return { method, url, rawHeaders, headers, user: undefined, ended };
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else if (error instanceof ApiError) sendJSON(response, error.code, error.status);
  else if (error instanceof PlainError) sendText(response, error.code, `${error.message}\n`);
  else
    sendText(
      response,
      500,
      `Internal Server Error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
}
