/** Stonegate's own user at Keystone, which validates tokens and reads the assignments of the whole system. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RealKeystone } from './real-keystone.ts';
import type { KeystoneStandIn } from './standin.ts';

/** The service credential; the file `bridge-password` has the text `bridge-pass`. */
export const BRIDGE = {
  password: {
    userName: 'bridge',
    userDomainName: 'Default',
    password: { fromFile: 'bridge-password' },
    scope: { system: true },
  },
} as const;

export async function makeBridge({ make, call, role }: RealKeystone) {
  const bridge = await make('users', { name: 'bridge', domain_id: 'default', password: 'bridge-pass' });
  for (const name of ['reader', 'service'])
    await call('PUT', `/system/users/${bridge}/roles/${await role(name)}`);
}

/** Gives Stonegate's user its roles at the stand-in, and its password to the configuration in this file. */
export async function admitBridge(
  { directory }: KeystoneStandIn,
  configFile: string,
  roles: readonly string[] = ['reader', 'service'],
) {
  const bridge = directory.user('Default', 'bridge');
  for (const role of roles) directory.assign(bridge, role, { system: true });
  await writeFile(join(dirname(configFile), 'bridge-password'), bridge.password);
}
