/**
 * Lets Stonegate provision a testbed with the rights that `stonegate manifests rbac --provisioner` prints and
 * the service credential that Keystone’s lists need, and runs `stonegate sync`.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { check } from '../../src/app/commands/check.ts';
import { provisionerManifests } from '../../src/app/commands/provisioner-manifests.ts';
import { sync } from '../../src/app/commands/sync.ts';
import { defaultConfiguration } from '../../src/app/configuration.ts';
import type { RoleTarget } from '../../src/features/bindings/bindings-configuration.ts';
import { admitBridge, BRIDGE } from './keystone/bridge.ts';
import { manifestsIn, seedManifests } from './manifests.ts';
import { printedBy } from './printed-io.ts';
import type { Mode, Testbed } from './testbed.ts';

const TOKEN = 'provisioner-token';
/** With the rights for quotas of tenants and of projects. */
const QUOTAS = {
  default: { pods: '1' },
  keystoneLimits: { service: 'kubernetes', resources: { pods: 'pods' } },
};

export interface ProvisionerOptions {
  readonly mode: Mode;
  readonly bindings?: object;
  /** The targets of the roles in the configuration. */
  readonly targets?: readonly RoleTarget[];
  /** Additional sections of the configuration, with which quotas of projects are provisioned. */
  readonly withQuotas?: Record<string, object>;
}

export async function admitProvisioner(
  { apiServer, keystone, configFile, configure }: Testbed,
  { mode, bindings = {}, targets = [], withQuotas }: ProvisionerOptions,
) {
  apiServer.seed.token(TOKEN, { username: 'provisioner' });
  const roles = Object.fromEntries(targets.map((target, at) => [`role-${at}`, target]));
  const configuration = defaultConfiguration({
    tenancy: { mode },
    bindings: { roles },
    ...(withQuotas && { quota: QUOTAS }),
  });
  const manifests = provisionerManifests(configuration, { kind: 'User', name: 'provisioner' }, '');
  seedManifests(apiServer.seed, manifestsIn(manifests));
  await admitBridge(keystone, configFile);
  await writeFile(join(dirname(configFile), 'provisioner-token'), TOKEN);
  const configureBindings = (given: object, sections: Record<string, object> = {}) =>
    configure({
      ...{ ...withQuotas, ...sections },
      authentication: {
        keystone: { url: keystone.url, caFile: 'ca.crt', serviceCredential: BRIDGE },
      },
      bindings: { credential: { tokenFile: 'provisioner-token' }, ...given },
    });
  await configureBindings(bindings);
  return {
    /** Replaces the section `bindings`, and gives the configuration further ones. */
    configureBindings,
    /** Runs `stonegate sync` with these arguments. */
    sync: (...argv: readonly string[]) => printedBy(sync, ['--config', configFile, ...argv]),
    /** Runs `stonegate check`. */
    check: () => printedBy(check, ['--config', configFile]),
  };
}
