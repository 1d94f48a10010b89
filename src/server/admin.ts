/**
 * The admin listener: health and metrics over plain HTTP, for probes and Prometheus inside the cluster. It tells no
 * secret and controls nothing, so that it needs no credential; everything else is a 404.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StatusError } from '../errors/status-error.ts';
import { toStatus } from '../errors/to-status.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { healthReport, type Readiness } from './health.ts';
import { listen } from './listen.ts';
import { encodeStatus } from './status-writer.ts';

export interface AdminOptions {
  /** `host:port`. */
  readonly bind: string;
  readonly readiness: () => readonly Readiness[] | Promise<readonly Readiness[]>;
  /** The exposition as text. */
  readonly metrics: () => Promise<string>;
  readonly random: Random;
  readonly logger: Logger;
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
/** Milliseconds for a whole request: probes are short. */
const REQUEST_TIMEOUT = 10_000;

/** @throws Error where the address is taken */
export async function createAdminListener(options: AdminOptions): Promise<AdminListener> {
  const server = createServer(
    { headersTimeout: REQUEST_TIMEOUT, requestTimeout: REQUEST_TIMEOUT },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => refuse(response, error, options));
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

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: AdminOptions,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    throw new StatusError(
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
    );
  }
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
    default:
      throw new StatusError('NotFound', 'the server could not find the requested resource');
  }
}

function health(path: string, parts: readonly Readiness[], query: URLSearchParams): Page {
  const { status, text } = healthReport(path.slice(1), parts, query.has('verbose'));
  return { status, contentType: PLAIN, text };
}

function refuse(response: ServerResponse, error: unknown, { random, logger }: AdminOptions): void {
  const auditID = random.uuid();
  if (!(error instanceof StatusError)) logger.error({ auditID, error }, 'serving an admin request failed');
  const { code, headers, body } = encodeStatus(toStatus(error, auditID), auditID);
  if (response.headersSent) response.destroy();
  else response.writeHead(code, headers.flat()).end(body);
}
