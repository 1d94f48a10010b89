/** Stonegate in the process of the test, assembled as in `stonegate serve`, with a testbed around it. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { Test } from 'tap';
import { type App, createApp } from '../../src/app/app.ts';
import { createProxyProgram } from '../../src/app/proxy-program.ts';
import { systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import type { AuditEvent } from './audit-v1.ts';
import { eventually } from './eventually.ts';
import { type Ask, createHttpsClient, type Reply } from './https-client.ts';
import { createTestbed, type Testbed, type TestbedOptions } from './testbed.ts';

export type { Ask, Reply } from './https-client.ts';

export interface RunningStonegate extends Testbed {
  readonly app: App;
  readonly url: string;
  /** The port to which clients connect, and the CA that they trust. */
  readonly destination: { readonly port: number; readonly ca: string };
  /** The lines that it has logged so far. */
  readonly logged: string[];
  ask(token: string | undefined, path: string, options?: Ask): Promise<Reply>;
  /** The head of the response; the caller reads or destroys it. */
  open(token: string | undefined, path: string, options?: Ask): Promise<IncomingMessage>;
  /** The audit events of all requests that have ended so far. */
  audited(): Promise<AuditEvent[]>;
  close(): Promise<void>;
}

/**
 * Starts Stonegate with a testbed in the test's folder or in a given one; both end with the test.
 *
 * @param options `keep` has the meaning of `stonegate serve --keep`
 */
export async function startStonegate(
  t: Pick<Test, 'testdir' | 'teardown'>,
  { keep = false, ...options }: Partial<TestbedOptions> & { readonly keep?: boolean } = {},
): Promise<RunningStonegate> {
  const folder = options.folder ?? join(t.testdir({}), 'land');
  return serveTestbed(t, await createTestbed({ ...options, folder }), { keep });
}

/** Starts another Stonegate with the testbed's configuration. Closing it does not close the testbed. */
export function startReplica(
  t: Pick<Test, 'teardown'>,
  testbed: Testbed,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<RunningStonegate> {
  return serveTestbed(t, { ...testbed, close: async () => {} }, { env });
}

/** Starts Stonegate with the testbed's configuration. Both end with the test at the latest. */
export async function serveTestbed(
  t: Pick<Test, 'teardown'>,
  testbed: Testbed,
  { keep = false, env = process.env }: { readonly keep?: boolean; readonly env?: typeof process.env } = {},
): Promise<RunningStonegate> {
  const logged: string[] = [];
  const sources = { ...systemSources, env };
  const program = createProxyProgram({ keep });
  const app = await program
    .load(testbed.configFile, sources)
    .then((result) => {
      if (!result.ok)
        throw new Error(result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'));
      const logger = createLogger('debug', { write: (line) => logged.push(line) });
      return createApp(program, { file: testbed.configFile, ...result, sources, logger });
    })
    .catch(async (error: unknown) => {
      await testbed.close();
      throw error;
    });
  const { port } = app.address;
  const client = createHttpsClient({ port, ca: testbed.authority.cert });
  const { ask, open } = client;

  async function readAudit(): Promise<AuditEvent[]> {
    const lines = await readFile(join(dirname(testbed.configFile), 'audit.log'), 'utf8');
    // Text after the last line feed is still being written.
    return lines
      .split('\n')
      .slice(0, -1)
      .map((line): AuditEvent => JSON.parse(line));
  }

  let closed: Promise<void> | undefined;
  const running: RunningStonegate = {
    ...testbed,
    app,
    destination: { port, ca: testbed.authority.cert },
    url: `https://127.0.0.1:${port}`,
    logged,
    ask,
    open,
    async audited() {
      // Lines are buffered and written in order: once this request's line is written, so are all earlier
      // ones.
      const mark = `/marks-the-audit-log/${randomUUID()}`;
      await ask(undefined, mark);
      await eventually(async () => (await readAudit()).some(({ requestURI }) => requestURI === mark));
      return (await readAudit()).filter(({ requestURI }) => !requestURI.startsWith('/marks-the-audit-log/'));
    },
    close: () => (closed ??= close()),
  };
  async function close() {
    client.close();
    await app.close();
    await testbed.close();
  }
  t.teardown(() => running.close());
  return running;
}
