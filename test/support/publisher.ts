/**
 * Lets Stonegate publish in a testbed, with the rights that `stonegate manifests rbac --provisioner` prints,
 * and runs `stonegate publish`.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { publish } from '../../src/app/commands/publish.ts';
import { printedManifests, seedManifests } from './manifests.ts';
import { printedBy } from './printed-io.ts';
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
  const words = ['--config', configFile, '--provisioner', '--user', 'provisioner'];
  seedManifests(apiServer.seed, await printedManifests('rbac', ...words));
  return {
    configurePublishing,
    publish: (...argv) => printedBy(publish, ['--config', configFile, ...argv]),
  };
}
