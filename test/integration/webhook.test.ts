/**
 * The webhook with a real Keystone behind it: roles that come and go, groups by their names, tokens that are revoked.
 */
import t from 'tap';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { startStonegate } from '../support/stonegate.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { createWebhookClient } from '../support/webhook.ts';

/** alice of acme, a member of the project web by a group of hers. */
async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const alice = await keystone.make('users', { name: 'alice', domain_id: acme, password: 'alice-pass' });
  const developers = await keystone.make('groups', { name: 'developers', domain_id: acme });
  const { body } = await keystone.call('GET', '/roles?name=member');
  const [role] = Array.isArray(body.roles) ? body.roles : [];
  await keystone.call('PUT', `/groups/${developers}/users/${alice}`);
  await keystone.call('PUT', `/projects/${web}/groups/${developers}/roles/${role?.id}`);
  const login = () => keystone.login(passwordOf('alice', 'acme', 'alice-pass'), { project: { id: web } });
  return { acme, web, alice, developers, login };
}

t.test('a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone();
  t.teardown(() => keystone.stop());
  const { acme, web, alice, developers, login } = await seed(keystone);
  const authority = await createAuthority('API servers');
  const folder = t.testdir({ 'hook-ca.crt': authority.cert });
  const tls = { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'hook-ca.crt' };
  const stonegate = await startStonegate({
    folder,
    mode: 'shared',
    configuration: {
      authentication: { keystone: { url: keystone.url, cacheTTL: '1ms' } },
      webhook: { bind: '127.0.0.1:0', usernames: 'legacy', tls },
    },
  });
  t.teardown(() => stonegate.close());
  const client = createWebhookClient({
    port: stonegate.app.webhookAddress?.port ?? 0,
    ca: stonegate.authority.cert,
    own: await authority.client('kube-apiserver'),
  });
  t.teardown(() => client.close());

  await t.test('C216 name, id, groups by name, project and the five attributes', async (t) => {
    const { status, body } = await client.reviewToken(await login());
    t.equal(status, 200);
    const identity = 'alpha.kubernetes.io/identity';
    t.match(body.status, {
      authenticated: true,
      user: {
        username: 'alice',
        uid: alice,
        groups: ['developers', web],
        extra: {
          [`${identity}/project/id`]: [web],
          [`${identity}/project/name`]: ['web'],
          [`${identity}/user/domain/id`]: [acme],
          [`${identity}/user/domain/name`]: ['acme'],
        },
      },
    });
    t.match(JSON.stringify(body.status), '"member"');
  });

  await t.test('who leaves the group is nobody on the project any more', async (t) => {
    const token = await login();
    t.match((await client.reviewToken(token)).body.status, { authenticated: true });
    await keystone.call('DELETE', `/groups/${developers}/users/${alice}`);
    t.same((await client.reviewToken(token)).body.status, { authenticated: false });
  });
});
