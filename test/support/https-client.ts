/** Requests over HTTPS as a test writes them: a credential, a path, and the whole response. */
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from './tls/authority.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  json(): { [key: string]: unknown; message?: string; code?: number };
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

export interface HttpsClient {
  ask(token: string | undefined, path: string, options?: Ask): Promise<Reply>;
  close(): void;
}

export interface HttpsClientOptions {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly certificate?: KeyPair | undefined;
}

/** Keeps its connections. */
export function createHttpsClient({ port, ca, certificate }: HttpsClientOptions): HttpsClient {
  const agent = new Agent({ ca, ...certificate, keepAlive: true });
  return {
    ask: (token, path, { method = 'GET', headers = {}, body } = {}) =>
      new Promise<Reply>((resolve, reject) => {
        const credential = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const sent = { host: '127.0.0.1', port, path, method, agent, headers: { ...credential, ...headers } };
        const request = httpsRequest(sent, (response) => {
          text(response).then(
            (received) =>
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                body: received,
                json: () => JSON.parse(received),
              }),
            reject,
          );
        });
        request.on('error', reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}
