/** Exchanges that were recorded with a real Keystone (Zed), and a server that replays one of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const FOLDER = new URL('../../conformance/keystone/recorded/', import.meta.url);

export interface Recording {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
}

export function recording(name: string): Recording {
  return { name, ...JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')) };
}

export function recordings(prefix: RegExp): Recording[] {
  return readdirSync(FOLDER)
    .map((file) => file.replace(/\.json$/, ''))
    .filter((name) => prefix.test(name))
    .map(recording);
}

/** The time of the server when it responded; some refusals have no date. */
export function recordedAt({ response }: Recording) {
  return Date.parse(response.headers.Date ?? 'Sat, 21 Nov 2026 00:18:09 GMT');
}

/** Header fields that the replaying server sets itself. */
const OWN_FIELDS = new Set(['connection', 'date', 'content-length', 'server']);

export interface Replay {
  readonly url: string;
  /** The method, URL and headers of each request so far. */
  readonly requests: { readonly method: string; readonly url: string; readonly headers: object }[];
  close(): Promise<void>;
}

/**
 * Responds with the recording to the kind of request for which it was recorded: a login or a validation.
 * Otherwise a login succeeds, and so does a validation of `ownToken` by itself.
 *
 * @param ownToken the token that a login returns
 */
export async function replay(
  { request: asked, response: given }: Recording,
  ownToken: string,
): Promise<Replay> {
  const requests: { method: string; url: string; headers: object }[] = [];
  const login = recording('auth-password-service-user').response;
  const server = createServer((request, response) => {
    request.resume();
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    const recorded = (request.method === 'POST') === (asked.method === 'POST');
    const own = !recorded || request.headers['x-subject-token'] === ownToken;
    const answer = own ? { ...login, status: request.method === 'POST' ? 201 : 200 } : given;
    const fields = Object.entries(answer.headers).filter(([name]) => !OWN_FIELDS.has(name.toLowerCase()));
    const headers = Object.fromEntries(fields);
    response.writeHead(answer.status, own ? { ...headers, 'X-Subject-Token': ownToken } : headers);
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v3`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
