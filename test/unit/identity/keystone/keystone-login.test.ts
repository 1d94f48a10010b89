import t from 'tap';
import type { KeystoneRequest, KeystoneResponse } from '../../../../src/identity/keystone/keystone-http.ts';
import { createKeystoneGroupNames, listProjects } from '../../../../src/identity/keystone/keystone-login.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';

/** Lists projects at a Keystone that sends this response. */
async function list(body: KeystoneResponse['body'], status = 200) {
  const asked: KeystoneRequest[] = [];
  const http = {
    async exchange(request: KeystoneRequest) {
      asked.push(request);
      return { status, body, token: undefined, date: undefined };
    },
    close: async () => undefined,
  };
  return { projects: await listProjects(http, 'tok'), asked };
}

t.test('the projects are requested with the token itself', async (t) => {
  const { projects, asked } = await list({ projects: [{ id: '1', name: 'web', enabled: true }] });
  t.strictSame(projects, [{ id: '1', name: 'web' }]);
  t.match(asked, [{ method: 'GET', path: '/auth/projects', headers: { 'x-auth-token': 'tok' } }]);
});

t.test('disabled projects are left out', async (t) => {
  const projects = [
    { id: '1', name: 'off', enabled: false },
    { id: '3', name: 'db', enabled: true },
  ];
  t.strictSame((await list({ projects })).projects, [{ id: '3', name: 'db' }]);
});

t.test('a response without a list is an error', async (t) => {
  await t.rejects(list({ error: { code: 401 } }, 401), { code: 'KeystoneUnavailable' });
});

t.test('the names of the user’s groups', async (t) => {
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

  t.test('are requested with the token of the user', async (t) =>
    t.same(await client.list(alice.id, token), ['developers', 'operators']),
  );

  t.test('are a 401 for a token that was revoked meanwhile', async (t) => {
    const revoked = keystone.issue(alice);
    keystone.revoke(revoked);
    await t.rejects(client.list(alice.id, revoked), { code: 'CredentialInvalid' });
  });

  t.test('are a 503 if Keystone does not list them, never an empty list', async (t) => {
    const bob = directory.user('acme', 'bob');
    await t.rejects(client.list(bob.id, token), { code: 'KeystoneUnavailable' });
    await keystone.down();
    await t.rejects(client.list(alice.id, token), { code: 'KeystoneUnavailable' });
    await keystone.listen();
  });
});
