/**
 * A stand-in API server in this process, for tests and the demo: an Arktos with tenants in its paths, or an
 * ordinary Kubernetes. It computes responses from stored objects, roles and bindings;
 * `test/conformance/arktos` compares them with those of a real server. It listens only on loopback.
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
  /** Without it, the server uses plain HTTP. */
  readonly tls?: {
    readonly key: string | Buffer;
    readonly cert: string | Buffer;
    readonly clientCA?: string | Buffer;
  };
  /** With 0, the default, the system chooses a port. */
  readonly port?: number;
  readonly tokens?: Readonly<Record<string, TokenUser>>;
  /** Whether every new pod is assigned to a node, so that it runs at once; true by default. */
  readonly schedulesPods?: boolean;
  /**
   * The version in `/version`. The default is that of the recorded Arktos, which was built without a version:
   * kubectl cannot parse it.
   */
  readonly gitVersion?: string | undefined;
  /** The clock that limits how often webhooks are called, as in Arktos; the system's by default. */
  readonly clock?: Clock | undefined;
  /** Called with each request as it arrives. */
  readonly onRequest?: (request: LoggedRequest) => void;
}

/** A request that arrived, for tests to examine. */
export interface LoggedRequest {
  readonly method: string;
  /** The request target, exactly as received. */
  readonly url: string;
  /** Alternating names and values, exactly as received. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** The user after impersonation; undefined unless the request has been authenticated. */
  user: User | undefined;
  /** Resolves when the exchange is over: `answered`, or `aborted` if the connection broke first. */
  readonly ended: Promise<'answered' | 'aborted'>;
}

export interface ApiServer {
  /** `https://127.0.0.1:port`, or `http://…` without TLS. */
  readonly url: string;
  readonly port: number;
  readonly cluster: Cluster;
  readonly seed: Seed;
  readonly requests: LoggedRequest[];
  /** The first request that matches, whether it has already arrived or not. */
  arrival(matches: (request: LoggedRequest) => boolean): Promise<LoggedRequest>;
  /** The number of open connections. */
  readonly connections: number;
  /** Makes the next request fail, or the next one for which `applies` is true. */
  breakNext(kind: FaultKind, applies?: (request: IncomingMessage) => boolean): void;
  /** Ends every watch and every followed log cleanly. */
  endWatches(): void;
  /**
   * Breaks every connection and stops listening, but does not lose objects; `start` listens again on the same
   * port.
   */
  stop(): Promise<void>;
  start(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

const LARGEST_HEADER = 1024 * 1024;

/** Starts a server whose cluster has only its initial objects. */
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

  const handle = (request: IncomingMessage, response: ServerResponse, upgrade: Upgraded | undefined) => {
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

function portOf(address: AddressInfo | string | null) {
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
}

/**
 * Attaches a response to a socket that requested an upgrade, so that a refusal can be written, and closes the
 * socket afterwards.
 */
function answerOn(socket: Duplex, response: ServerResponse) {
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

function sendError(response: ServerResponse, error: unknown) {
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
