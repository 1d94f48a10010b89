/** The admission webhook as `stonegate serve --only admission` runs it, in the process of the test. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringify } from 'yaml';
import { admissionProgram } from '../../src/app/admission-program.ts';
import { type App, createApp } from '../../src/app/app.ts';
import { systemSources } from '../../src/config/load.ts';
import { createLogger } from '../../src/observability/log.ts';
import { freePort } from './free-port.ts';
import { createAuthority } from './tls/authority.ts';

export type AdmissionWebhook = Awaited<ReturnType<typeof startAdmissionWebhook>>;

interface Sections {
  readonly files?: Readonly<Record<string, string>>;
  readonly [name: string]: unknown;
}

/**
 * Writes the configuration of a process that serves only the webhook.
 *
 * @param sections additional sections of the configuration, and the files that they name
 */
export async function configureAdmissionWebhook(
  t: Pick<Test, 'testdir'>,
  mode: 'arktos' | 'shared',
  admission: object = {},
  { files = {}, ...sections }: Sections = {},
) {
  const authority = await createAuthority('admission CA');
  const served = await authority.server('stonegate');
  const port = await freePort();
  const folder = t.testdir({
    ...files,
    'hook.crt': served.cert,
    'hook.key': served.key,
    'ca.crt': authority.cert,
  });
  const configFile = join(folder, 'admission.yaml');
  await writeFile(
    configFile,
    stringify({
      apiVersion: 'stonegate.dev/v1alpha1',
      kind: 'StonegateConfiguration',
      tenancy: { mode },
      admission: {
        bind: `127.0.0.1:${port}`,
        tls: { certFile: 'hook.crt', keyFile: 'hook.key' },
        ...admission,
      },
      ...sections,
    }),
  );
  return { port, authority, configFile, caFile: join(folder, 'ca.crt') };
}

/** Ends with the test. */
export async function startAdmissionWebhook(
  t: Pick<Test, 'testdir' | 'teardown'>,
  mode: 'arktos' | 'shared',
  admission: object = {},
  sections: Sections = {},
) {
  const configured = await configureAdmissionWebhook(t, mode, admission, sections);
  const { configFile } = configured;
  const logged: string[] = [];
  async function start(): Promise<App> {
    const result = await admissionProgram.load(configFile, systemSources);
    if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('\n'));
    const logger = createLogger('debug', { write: (line) => logged.push(line) });
    return createApp(admissionProgram, { file: configFile, ...result, sources: systemSources, logger });
  }
  let app = await start();
  t.teardown(() => app.close());
  return {
    ...configured,
    /** The lines that it has logged so far. */
    logged,
    get app() {
      return app;
    },
    stop: () => app.close(),
    /** Starts it again at the same address. */
    async start() {
      app = await start();
    },
  };
}
