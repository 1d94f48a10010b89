import t from 'tap';
import { createKeystoneGroupNames } from '../../../src/clients/keystone-group-names.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createKeystoneStandIn } from '../../support/keystone/standin.ts';

t.test('the names of a user’s groups', async (t) => {
  const keystone = await createKeystoneStandIn();
  const { url, directory } = keystone;
  const client = createKeystoneGroupNames({
    url,
    timeout: 5_000,
    clock: systemClock,
    telemetry: noTelemetry,
  });
  t.teardown(() => Promise.all([client.close(), keystone.close()]));
  const alice = directory.user('acme', 'alice');
  alice.groups.push('developers', 'operators');
  const token = keystone.issue(alice);

  t.test('are asked for with their own token', async (t) => {
    t.same(await client.list(alice.id, token), ['developers', 'operators']);
  });

  t.test('of a token that has died meanwhile are a 401', async (t) => {
    const revoked = keystone.issue(alice);
    keystone.revoke(revoked);
    await t.rejects(client.list(alice.id, revoked), { code: 'CredentialInvalid' });
  });

  t.test('that Keystone does not give are a 503, never no groups', async (t) => {
    const bob = directory.user('acme', 'bob');
    await t.rejects(client.list(bob.id, token), { code: 'KeystoneUnavailable' });
    await keystone.down();
    await t.rejects(client.list(alice.id, token), { code: 'KeystoneUnavailable' });
    await keystone.listen();
  });
});
