/**
 * Keystone's directory as Stonegate reads it with a service credential: the user `bridge` of the domain
 * `Default`, with the password `bridge-pass` and a role in the system scope.
 */
import type { Test } from 'tap';
import { bridgeWith, keystoneClient } from './client.ts';

/** Ends with the test. */
export function bridgeDirectory(t: Pick<Test, 'teardown'>, url: string) {
  const { directory } = keystoneClient(t, { url, credential: bridgeWith({ system: true }) });
  if (directory === undefined) throw new Error('there is a service credential');
  return directory;
}
