/**
 * One interface for two HTTP/1.1 clients, ours and undici, so that both are tested with the same properties.
 */
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { systemClock } from '../../../src/lib/clock.ts';
import { fromRawHeaders, type HeaderField } from '../../../src/lib/header-list.ts';
import { createConnector } from '../../../src/upstream/http1/connector.ts';
import { ConnectionPool } from '../../../src/upstream/http1/pool.ts';
import { createHeadSerializer } from '../../../src/upstream/http1/serializer.ts';
import { Recorder } from '../raw-http/recorder.ts';

export interface ClientRequest {
  readonly method: string;
  readonly target: string;
  /** The body with its length. */
  readonly body?: { readonly length: number; readonly source: Readable };
}

export type Outcome =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: readonly HeaderField[];
      readonly trailers: readonly HeaderField[];
      /** In latin1. */
      readonly body: string;
    }
  /** `partial` is the part of the body that was received. */
  | { readonly kind: 'failure'; readonly error: Error; readonly partial: string };

/** Uses one connection at a time. */
export interface TestClient {
  readonly name: string;
  request(request: ClientRequest): Promise<Outcome>;
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 64 * 1024;
const TIMEOUT = 30_000;
const serialize = createHeadSerializer(() => true);

export function createOurClient(port: number): TestClient {
  const pool = new ConnectionPool({
    connector: createConnector({ server: `http://127.0.0.1:${port}`, connectTimeout: TIMEOUT }, systemClock),
    clock: systemClock,
    maxConnections: 1,
    queueTimeout: TIMEOUT,
    onHandlerError: (error) => {
      throw error;
    },
  });
  return {
    name: 'our client',
    async request({ method, target, body }) {
      const recorder = new Recorder();
      const framing = body?.length ?? 'none';
      const head = serialize(method, target, `127.0.0.1:${port}`, [], undefined, framing);
      pool.send({ method, head, framing, ...(body && { body: body.source }) }, recorder);
      await recorder.ended;
      const { error, status = 0, fields, content } = recorder;
      if (error !== undefined) return { kind: 'failure', error, partial: content };
      return { kind: 'response', status, headers: fields, trailers: [], body: content };
    },
    close: () => pool.destroy(),
  };
}

export function createUndiciClient(port: number): TestClient {
  const pool = new Pool(`http://127.0.0.1:${port}`, {
    connections: 1,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 60_000,
    headersTimeout: TIMEOUT,
    bodyTimeout: TIMEOUT,
  });
  return {
    name: 'undici',
    request({ method, target, body }) {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      let status = 0;
      let headers: HeaderField[] = [];
      let content = '';
      pool.dispatch(
        {
          method,
          path: target,
          ...(body && { body: body.source, headers: { 'content-length': String(body.length) } }),
        },
        {
          onRequestStart() {},
          onResponseStart(controller, statusCode) {
            status = statusCode;
            headers = fieldsOf(controller.rawHeaders);
          },
          onResponseData(_controller, chunk) {
            content += chunk.toString('latin1');
          },
          onResponseEnd(controller) {
            const trailers = fieldsOf(controller.rawTrailers);
            resolve({ kind: 'response', status, headers, trailers, body: content });
          },
          onResponseError(_controller, error) {
            resolve({ kind: 'failure', error, partial: content });
          },
        },
      );
      return promise;
    },
    close: () => pool.destroy(),
  };
}

function fieldsOf(raw: unknown): HeaderField[] {
  if (!Array.isArray(raw)) return [];
  return fromRawHeaders(
    raw.map((text: unknown) => (Buffer.isBuffer(text) ? text.toString('latin1') : String(text))),
  );
}
