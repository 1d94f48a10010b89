/**
 * Who can do something: the RBAC index, Stonegate's own user name, and Keystone's names if there is a service
 * credential.
 */
import type { AccessIndex } from '../access/ports.ts';
import type { WhoCanOptions } from '../access/who-can.ts';
import { createKeystoneNames } from '../clients/keystone-names.ts';
import { ownUserName } from '../upstream/credential.ts';
import type { Build } from './build.ts';
import { createKeystone } from './keystone.ts';
import { ownCredential } from './upstream.ts';

export function createWhoCanOptions(build: Build, access: AccessIndex): WhoCanOptions {
  const { loaded, runtime } = build;
  const { keystone } = loaded.configuration.authentication;
  const directory = keystone && createKeystone(build, keystone).client.directory;
  return {
    access,
    ownUserName: ownUserName(ownCredential(loaded)),
    ...(directory && { keystone: createKeystoneNames({ directory, clock: runtime.clock }) }),
  };
}
