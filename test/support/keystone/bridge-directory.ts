/**
 * Keystone's directory as Stonegate reads it with a service credential: the user `bridge` of the domain
 * `Default`, with the password `bridge-pass` and a role in the scope of the system.
 */
import type { Test } from 'tap';
import { createKeystoneClient } from '../../../src/identity/keystone/keystone.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';

/** Ends with the test. */
export function bridgeDirectory(t: Pick<Test, 'teardown'>, url: string) {
  const client = createKeystoneClient({
    url,
    credential: {
      password: {
        userName: 'bridge',
        userDomainName: 'Default',
        password: { fromEnv: 'UNUSED' },
        scope: { system: true },
      },
    },
    secret: 'bridge-pass',
    timeout: 60_000,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(() => client.close());
  if (client.directory === undefined) throw new Error('there is a service credential');
  return client.directory;
}
