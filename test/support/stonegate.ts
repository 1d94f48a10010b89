/**
 * Stonegate in the test's own process, put together as `stonegate serve` does it, with a testbed around it.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import { type App, createApp } from '../../src/app/app.ts';
import { loadConfiguration, systemSources } from '../../src/config/load.ts';
import type { AuditEvent } from '../../src/kubernetes/audit-v1.ts';
import { createLogger } from '../../src/observability/log.ts';
import { eventually } from './eventually.ts';
import { type Ask, createHttpsClient, type Reply } from './https-client.ts';
import { createTestbed, type Testbed, type TestbedOptions } from './testbed.ts';

export type { Ask, Reply } from './https-client.ts';

export interface RunningStonegate extends Testbed {
  readonly app: App;
  readonly url: string;
  /** What it logged so far, a line each. */
  readonly logged: string[];
  ask(token: string | undefined, path: string, options?: Ask): Promise<Reply>;
  /** The head of the response; the caller reads or destroys it. */
  open(token: string | undefined, path: string, options?: Ask): Promise<IncomingMessage>;
  /** The audit log of what was answered so far. */
  audited(): Promise<AuditEvent[]>;
  close(): Promise<void>;
}

/** @param options with `keep` as `stonegate serve --keep` */
export async function startStonegate({
  keep = false,
  ...options
}: TestbedOptions & { readonly keep?: boolean }): Promise<RunningStonegate> {
  return serveTestbed(await createTestbed(options), keep);
}

/** Starts Stonegate with the testbed's configuration. */
export async function serveTestbed(testbed: Testbed, keep = false): Promise<RunningStonegate> {
  const logged: string[] = [];
  const result = await loadConfiguration(testbed.configFile, systemSources);
  if (!result.ok)
    throw new Error(result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  const app = await createApp({
    file: testbed.configFile,
    loaded: result.loaded,
    watched: result.watched,
    sources: systemSources,
    keep,
    logger: createLogger('debug', { write: (line) => logged.push(line) }),
  }).catch(async (error: unknown) => {
    await testbed.close();
    throw error;
  });
  const { port } = app.address;
  const client = createHttpsClient({ port, ca: testbed.authority.cert });
  const { ask, open } = client;

  async function readAudit(): Promise<AuditEvent[]> {
    const lines = await readFile(join(dirname(testbed.configFile), 'audit.log'), 'utf8');
    // What is behind the last line feed is still being written.
    return lines
      .split('\n')
      .slice(0, -1)
      .map((line): AuditEvent => JSON.parse(line));
  }

  return {
    ...testbed,
    app,
    url: `https://127.0.0.1:${port}`,
    logged,
    ask,
    open,
    async audited() {
      // Lines are gathered and written in their order: once this request's is there, so are all before it.
      const mark = `/marks-the-audit-log/${randomUUID()}`;
      await ask(undefined, mark);
      await eventually(async () => (await readAudit()).some(({ requestURI }) => requestURI === mark));
      return (await readAudit()).filter(({ requestURI }) => !requestURI.startsWith('/marks-the-audit-log/'));
    },
    async close() {
      client.close();
      await app.close();
      await testbed.close();
    },
  };
}
