/** One request with its path exactly as given; `fetch` would normalize it. */
import { request } from 'node:http';

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** The request of a watch that would not end by itself is aborted when the response head has arrived. */
const endless = (path: string) => /[?&]watch=|\/watch\//.test(path) && !path.includes('timeoutSeconds');

export function ask(url: string, { method, path, headers, body }: Question): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { host, hostname, port } = new URL(url);
    const content = body === undefined ? [] : [['Content-Type', 'application/json'] as const];
    const sent = request({
      hostname,
      port,
      method,
      path,
      headers: [['Host', host], ...headers, ...content].flat(),
      agent: false,
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const { statusCode: status = 0 } = response;
      const contentType = response.headers['content-type'];
      if (status === 200 && endless(path)) {
        sent.destroy();
        resolve({ status, contentType, body: '' });
        return;
      }
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve({ status, contentType, body: text }));
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
