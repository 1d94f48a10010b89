/**
 * Stonegate in the test's own process, put together as `stonegate serve` does it, with a landscape around it.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, request as httpsRequest } from 'node:https';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { AuditEvent } from '../../src/api/audit-v1.ts';
import { type App, createApp } from '../../src/app.ts';
import { loadConfiguration, systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from './eventually.ts';
import { createLandscape, type Landscape, type LandscapeOptions } from './landscape.ts';

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

export interface RunningStonegate extends Landscape {
  readonly app: App;
  readonly url: string;
  /** What it logged so far, a line each. */
  readonly logged: string[];
  ask(token: string | undefined, path: string, options?: Ask): Promise<Reply>;
  /** The audit log of what was answered so far. */
  audited(): Promise<AuditEvent[]>;
  close(): Promise<void>;
}

export async function startStonegate(options: LandscapeOptions): Promise<RunningStonegate> {
  const landscape = await createLandscape(options);
  const logged: string[] = [];
  const result = await loadConfiguration(landscape.configFile, systemSources);
  if (!result.ok)
    throw new Error(result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const app = await createApp({
    file: landscape.configFile,
    loaded: result.loaded,
    watched: result.watched,
    sources: systemSources,
    logger: createLogger('debug', { write: (line) => logged.push(line) }),
  }).catch(async (error: unknown) => {
    await landscape.close();
    throw error;
  });
  const { port } = app.address;
  const agent = new Agent({ ca: landscape.authority.cert, keepAlive: true });

  const ask = (token: string | undefined, path: string, { method = 'GET', headers = {}, body }: Ask = {}) =>
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
    });

  async function readAudit(): Promise<AuditEvent[]> {
    const lines = await readFile(join(dirname(landscape.configFile), 'audit.log'), 'utf8');
    // What is behind the last line feed is still being written.
    return lines
      .split('\n')
      .slice(0, -1)
      .map((line): AuditEvent => JSON.parse(line));
  }

  return {
    ...landscape,
    app,
    url: `https://127.0.0.1:${port}`,
    logged,
    ask,
    async audited() {
      // Lines are gathered and written in their order: once this request's is there, so are all before it.
      const mark = `/marks-the-audit-log/${randomUUID()}`;
      await ask(undefined, mark);
      await eventually(async () => (await readAudit()).some(({ requestURI }) => requestURI === mark));
      return (await readAudit()).filter(({ requestURI }) => !requestURI.startsWith('/marks-the-audit-log/'));
    },
    async close() {
      agent.destroy();
      await app.close();
      await landscape.close();
    },
  };
}
