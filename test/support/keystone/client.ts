/**
 * Stonegate’s client of a Keystone with the same options for every test, and the service user `bridge` of the
 * domain `Default`, whose password is `bridge-pass`.
 */
import type { Test } from 'tap';
import type { KeystoneServiceCredential } from '../../../src/config/core-configuration.ts';
import {
  createKeystoneClient,
  type KeystoneClient,
  type KeystoneClientOptions,
} from '../../../src/identity/keystone/keystone.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';

type Scope = Extract<KeystoneServiceCredential, { password: unknown }>['password']['scope'];

export const SERVICE_PROJECT: Scope = { projectName: 'service', projectDomainName: 'Default' };

/** @param scope of the service token */
export function bridgeWith(scope: Scope, userName = 'bridge'): KeystoneServiceCredential {
  return { password: { userName, userDomainName: 'Default', password: { fromEnv: 'UNUSED' }, scope } };
}

/** Closed with the test. */
export function keystoneClient(
  t: Pick<Test, 'teardown'>,
  options: Pick<KeystoneClientOptions, 'url'> & Partial<KeystoneClientOptions>,
): KeystoneClient {
  const client = createKeystoneClient({
    secret: 'bridge-pass',
    timeout: 30_000,
    clock: systemClock,
    logger: silentLogger,
    telemetry: noTelemetry,
    ...options,
  });
  t.teardown(() => client.close());
  return client;
}
