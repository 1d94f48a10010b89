/**
 * What users of a real Keystone may do with their tokens beyond sending them as they are: carry them in a
 * WebSocket's subprotocol, and impersonate another user of their tenant, for as long as Keystone validates
 * them.
 */
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { missingKeystone, passwordOf, startRealKeystone } from '../support/keystone/real-keystone.ts';
import { isForClient } from '../support/own-questions.ts';
import { startStonegate } from '../support/stonegate.ts';

const SETTINGS = '/api/v1/namespaces/default/configmaps/settings';

t.test('a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone();
  t.teardown(() => keystone.stop());
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const alice = await keystone.make('users', { name: 'alice', domain_id: acme, password: 'alice-pass' });
  const assignment = `/projects/${web}/users/${alice}/roles/${await keystone.role('member')}`;
  await keystone.call('PUT', assignment);
  const stonegate = await startStonegate({
    folder: t.testdir(),
    configuration: {
      authentication: {
        keystone: { url: keystone.url, timeout: '30s', cacheTTL: '1s', negativeCacheTTL: '1s' },
      },
    },
  });
  t.teardown(() => stonegate.close());
  const { ask, apiServer, audited } = stonegate;
  apiServer.seed.clusterRoleBinding('carol', 'worker', ['user:acme:carol'], { tenant: 'acme' });
  const token = await keystone.login(passwordOf('alice', 'acme', 'alice-pass'), { project: { id: web } });
  const as = (user: string) => ask(token, SETTINGS, { headers: { 'impersonate-user': user } });

  await t.test('a token in the subprotocol of a WebSocket is its user’s, and goes no further', async (t) => {
    const carrier = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const headers = { 'sec-websocket-protocol': `${carrier}, v4.channel.k8s.io` };
    t.equal((await ask(undefined, SETTINGS, { headers })).status, 200);
    t.notMatch(JSON.stringify(apiServer.requests.filter(isForClient).at(-1)?.headers), carrier.slice(-40));
    t.equal((await ask(token, SETTINGS, { headers })).status, 401, 'twice is once too often');
  });

  await t.test('acting as a colleague stays within the domain of the token', async (t) => {
    t.equal((await as('carol')).status, 200);
    t.match(apiServer.requests.filter(isForClient).at(-1)?.headers, { 'impersonate-user': 'acme:carol' });
    t.equal((await as('globex:bob')).status, 403);
    t.equal((await as('system:admin')).status, 403);
    t.match(
      (await audited()).findLast(({ impersonatedUser }) => impersonatedUser?.username === 'acme:carol'),
      {
        user: { username: 'acme:alice', uid: alice },
      },
    );
  });

  await t.test('a user who loses the role impersonates no user any more', async (t) => {
    await keystone.call('DELETE', assignment);
    await eventually(async () => (await as('carol')).status === 401);
    t.equal((await ask(token, SETTINGS)).status, 401);
  });
});
