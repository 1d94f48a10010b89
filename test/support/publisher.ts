/**
 * Lets Stonegate publish in a testbed, with the rights that `stonegate manifests rbac --provisioner` prints,
 * and runs `stonegate publish`.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { publish } from '../../src/app/commands/publish.ts';
import { manifests } from '../../src/cli/manifests.ts';
import { printedIO } from './printed-io.ts';
import { seedManifests } from './provisioner.ts';
import type { Testbed } from './testbed.ts';

export interface Publisher {
  /** Runs `stonegate publish` with these arguments. */
  publish(...argv: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Writes the configuration anew; undefined: without the section. */
  configurePublishing(publishing: object | undefined): Promise<void>;
}

const TOKEN = 'provisioner-token';

export async function admitPublisher(
  { apiServer, configFile, configure }: Pick<Testbed, 'apiServer' | 'configFile' | 'configure'>,
  publishing: object,
): Promise<Publisher> {
  apiServer.seed.token(TOKEN, { username: 'provisioner' });
  await writeFile(join(dirname(configFile), 'provisioner-token'), TOKEN);
  const bindings = { credential: { tokenFile: 'provisioner-token' } };
  const configurePublishing = (section: object | undefined) =>
    configure({ bindings, ...(section && { publishing: section }) });
  await configurePublishing(publishing);
  const { io, printed } = printedIO();
  await manifests(['rbac', '--config', configFile, '--provisioner', '--user', 'provisioner'], io);
  seedManifests(apiServer, printed.stdout);
  return {
    configurePublishing,
    async publish(...argv) {
      const { io, printed } = printedIO();
      const code = await publish(['--config', configFile, ...argv], io);
      return { code, ...printed };
    },
  };
}
