/**
 * The reference: a plain reverse proxy in Node. TLS with HTTP/1.1 and HTTP/2 in front, undici's dispatcher
 * behind, unchanged headers and no decision of any kind.
 */
import { readFileSync } from 'node:fs';
import { type IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:https';
import process from 'node:process';
import { type Dispatcher, Pool } from 'undici';
import { announce } from './announce.ts';

const [upstream = '', certFile = '', keyFile = '', caFile = '', protocol = 'http1'] = process.argv.slice(2);
const ca = readFileSync(caFile);
const { origin } = new URL(upstream);
const pool = new Pool(origin, {
  connections: null,
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: 60_000,
  headersTimeout: 0,
  bodyTimeout: 0,
  connect: { ca },
});

type Response = ServerResponse | Http2ServerResponse;

function forward(request: IncomingMessage | Http2ServerRequest, response: Response): void {
  const hasBody = request.headers['content-length'] !== undefined;
  pool.dispatch(
    {
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: fieldsOf(request.rawHeaders),
      body: hasBody ? request : null,
    },
    new Relay(response),
  );
}

/** undici frames requests itself. */
function fieldsOf(raw: readonly string[]): string[] {
  const fields: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    if (!name.startsWith(':') && !/^(?:connection|host|expect)$/i.test(name)) fields.push(name, value);
  }
  return fields;
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: Response;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(response: Response) {
    this.#response = response;
    response.on('close', () => {
      if (!response.writableFinished) this.#controller?.abort(new Error('the client left'));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    const raw = controller.rawHeaders;
    const fields: Record<string, string> = {};
    if (Array.isArray(raw)) {
      for (let i = 0; i + 1 < raw.length; i += 2) {
        const name = String(raw[i]).toLowerCase();
        if (name !== 'transfer-encoding' && name !== 'connection') fields[name] = String(raw[i + 1]);
      }
    }
    this.#response.statusCode = status;
    for (const [name, value] of Object.entries(fields)) this.#response.setHeader(name, value);
    if (fields['content-length'] !== undefined) return;
    // The head of a watch is sent at once.
    if (this.#response instanceof ServerResponse) this.#response.flushHeaders();
    else this.#response.writeHead(status);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const writable: { write(chunk: Buffer): boolean } = this.#response;
    if (writable.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const server =
  protocol === 'http2'
    ? createSecureServer({ ...tls, allowHTTP1: true }, forward)
    : createServer({ ...tls, maxHeaderSize: 64 * 1024 }, forward);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => announce(server));
