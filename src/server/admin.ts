/**
 * The admin listener: health, metrics and the version over plain HTTP, for probes and Prometheus inside the
 * cluster. It reveals no secret and controls nothing, so it needs no credential. `/livez` (and its old name
 * `/healthz`) ignores backends, because their failure must not make Kubernetes restart the process; `/readyz`
 * runs every check.
 * https://kubernetes.io/docs/reference/using-api/health-checks/
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { methodNotAllowed, pathNotFound, StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Runtime } from '../lib/runtime.ts';
import { listen } from './listen.ts';
import { encodeStatus } from './status-writer.ts';

export interface Readiness {
  readonly name: string;
  /** Absent if it is ready. */
  readonly reason?: string;
}

export interface AdminOptions extends Pick<Runtime, 'logger' | 'random'> {
  /** `host:port`. */
  readonly bind: string;
  readonly readiness: () => readonly Readiness[] | Promise<readonly Readiness[]>;
  /** The metrics in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  /** `/metrics/usage`, in the same format; undefined if it is off. */
  readonly usage?: (() => string | Promise<string>) | undefined;
  /** Stonegate's version: at the other listeners `/version` is the API server's. */
  readonly version: string;
}

export interface AdminListener {
  readonly address: AddressInfo;
  close(): Promise<void>;
}

interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const PLAIN = 'text/plain; charset=utf-8';
/** https://prometheus.io/docs/instrumenting/exposition_formats/ */
const EXPOSITION = 'text/plain; version=0.0.4; charset=utf-8';
/** Milliseconds for a whole request. */
const REQUEST_TIMEOUT = 10_000;

/** @throws Error if the address is in use */
export async function createAdminListener(options: AdminOptions): Promise<AdminListener> {
  const server = createServer(
    { headersTimeout: REQUEST_TIMEOUT, requestTimeout: REQUEST_TIMEOUT },
    (request, response) => {
      respond(request, response, options).catch((error: unknown) => refuse(response, error, options));
    },
  );
  const address = await listen(server, options.bind);
  return {
    address,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: AdminOptions,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(['GET', 'HEAD']);
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const { status, contentType, text } = await pageOf(path, new URLSearchParams(query), options);
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-cache, private',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}

async function pageOf(path: string, query: URLSearchParams, options: AdminOptions): Promise<Page> {
  switch (path) {
    case '/livez':
    case '/healthz':
      return health(path, [], query);
    case '/readyz':
      return health(path, await options.readiness(), query);
    case '/metrics':
      return { status: 200, contentType: EXPOSITION, text: await options.metrics() };
    case '/metrics/usage':
      if (options.usage === undefined) throw pathNotFound();
      return { status: 200, contentType: EXPOSITION, text: await options.usage() };
    case '/version': {
      const build = { version: options.version, nodeVersion: process.versions.node };
      return { status: 200, contentType: 'application/json', text: `${JSON.stringify(build)}\n` };
    }
    default:
      throw pathNotFound();
  }
}

/** Lists all parts if one is not ready, or if the query says `verbose`. */
function health(path: string, parts: readonly Readiness[], query: URLSearchParams): Page {
  const ready = parts.every(({ reason }) => reason === undefined);
  const status = ready ? 200 : 503;
  if (ready && !query.has('verbose')) return { status, contentType: PLAIN, text: 'ok' };
  const lines = [{ name: 'ping' }, ...parts].map(formatReadiness);
  const verdict = `${path.slice(1)} check ${ready ? 'passed' : 'failed'}`;
  return { status, contentType: PLAIN, text: `${[...lines, verdict].join('\n')}\n` };
}

function refuse(response: ServerResponse, error: unknown, { random, logger }: AdminOptions): void {
  const auditID = random.uuid();
  if (!(error instanceof StatusError)) logger.error({ auditID, error }, 'serving an admin request failed');
  const { code, headers, body } = encodeStatus(toStatus(error, auditID), auditID);
  if (response.headersSent) response.destroy();
  else response.writeHead(code, headers.flat()).end(body);
}

/** Runs every check. */
export function readinessOf(checks: readonly ReadinessCheck[]): Readiness[] {
  return checks.map((check) => {
    const reason = check.notReadyBecause();
    return reason === undefined ? { name: check.name } : { name: check.name, reason };
  });
}

function formatReadiness({ name, reason }: Readiness): string {
  return reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`;
}
