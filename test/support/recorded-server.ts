/** An HTTP server on loopback that returns fixed JSON responses and records its requests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { fromRawHeaders } from '../../src/lib/header-list.ts';

export interface RecordedServer {
  readonly url: string;
  readonly asked: {
    readonly method: string;
    readonly path: string;
    readonly accept: string;
    readonly authorization: string;
    /** Impersonation header fields, with names in lower case. */
    readonly impersonated: readonly (readonly [string, string])[];
    readonly body: unknown;
  }[];
}

export interface RecordedResponse {
  readonly status?: number;
  readonly body: unknown;
}

/** @param respond returns the response; undefined results in a 404 Status */
export async function startRecordedServer(
  t: { teardown(close: () => unknown): unknown },
  respond: (request: { readonly path: string; readonly accept: string }) => RecordedResponse | undefined,
): Promise<RecordedServer> {
  const asked: RecordedServer['asked'] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    const { accept = '', authorization = '' } = headers;
    text(request).then(
      (sent) => {
        const impersonated = fromRawHeaders(request.rawHeaders)
          .map(([name, value]) => [name.toLowerCase(), value] as const)
          .filter(([name]) => name.startsWith('impersonate-'));
        const body: unknown = sent === '' ? undefined : JSON.parse(sent);
        asked.push({ method, path, accept, authorization, impersonated, body });
        const found = respond({ path, accept }) ?? { status: 404, body: { message: `no ${path}` } };
        response.writeHead(found.status ?? 200).end(JSON.stringify(found.body));
      },
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}`, asked };
}
