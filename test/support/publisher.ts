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

const TOKEN = 'provisioner-token';

export async function admitPublisher(
  { apiServer, configFile, configure }: Pick<Testbed, 'apiServer' | 'configFile' | 'configure'>,
  publishing: object,
) {
  apiServer.seed.token(TOKEN, { username: 'provisioner' });
  await writeFile(join(dirname(configFile), 'provisioner-token'), TOKEN);
  const bindings = { credential: { tokenFile: 'provisioner-token' } };
  /** Replaces the section `publishing`; undefined removes it. */
  const configurePublishing = (section: object | undefined) =>
    configure({ bindings, ...(section && { publishing: section }) });
  await configurePublishing(publishing);
  const words = ['--config', configFile, '--provisioner', '--user', 'provisioner'];
  seedManifests(apiServer.seed, await printedManifests('rbac', ...words));
  return {
    configurePublishing,
    /** Runs `stonegate publish` with these arguments. */
    publish: (...argv: readonly string[]) => printedBy(publish, ['--config', configFile, ...argv]),
  };
}
