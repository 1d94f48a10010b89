/** Requests over HTTPS as a test writes them: a credential, a path, and the complete response. */
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { KeyPair } from './tls/authority.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly bytes: Buffer;
  json(): { [key: string]: unknown; message?: string; code?: number };
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export interface HttpsClient {
  /** Resolves with the head of the response; the caller reads or destroys it. */
  open(token: string | undefined, path: string, options?: Ask): Promise<IncomingMessage>;
  ask(token: string | undefined, path: string, options?: Ask): Promise<Reply>;
  close(): void;
}

export interface HttpsClientOptions {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly certificate?: KeyPair | undefined;
}

/** A client that reuses its connections. */
export function createHttpsClient({ port, ca, certificate }: HttpsClientOptions): HttpsClient {
  const agent = new Agent({ ca, ...certificate, keepAlive: true });
  const open: HttpsClient['open'] = (token, path, { method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const credential = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const sent = { host: '127.0.0.1', port, path, method, agent, headers: { ...credential, ...headers } };
      httpsRequest(sent, resolve).on('error', reject).end(body);
    });
  return {
    open,
    async ask(token, path, options) {
      const response = await open(token, path, options);
      const bytes = await buffer(response);
      const body = bytes.toString('utf8');
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        bytes,
        body,
        json: () => JSON.parse(body),
      };
    },
    close: () => agent.destroy(),
  };
}

/** A request that creates an object, which may be JSON already. */
export function posted(object: object | string): Ask {
  return { method: 'POST', ...bodyOf(object, 'application/json') };
}

/** A request that merges these members into an object. */
export function patched(changes: object | string): Ask {
  return { method: 'PATCH', ...bodyOf(changes, 'application/merge-patch+json') };
}

function bodyOf(object: object | string, type: string) {
  const body = typeof object === 'string' ? object : JSON.stringify(object);
  return { headers: { 'content-type': type }, body };
}
