/** Stonegate's own user at Keystone, which validates tokens and reads the assignments of the whole system. */
import type { RealKeystone } from './real-keystone.ts';

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
