/**
 * The webhook with a real Keystone behind it: groups by their names, and tokens that end with a role or a
 * user. Nothing is cached here, so that each review shows what Keystone says.
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

const UNAUTHENTICATED = { authenticated: false };

/** alice of acme, a member of the project web through a group. */
async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const alice = await keystone.make('users', { name: 'alice', domain_id: acme, password: 'alice-pass' });
  const developers = await keystone.make('groups', { name: 'developers', domain_id: acme });
  const [member, reader] = [await keystone.role('member'), await keystone.role('reader')];
  await keystone.call('PUT', `/groups/${developers}/users/${alice}`);
  await keystone.call('PUT', `/projects/${web}/groups/${developers}/roles/${member}`);
  const login = (name: string) =>
    keystone.login(passwordOf(name, 'acme', `${name}-pass`), { project: { id: web } });
  const user = (name: string) => keystone.make('users', { name, domain_id: acme, password: `${name}-pass` });
  return { acme, web, alice, developers, reader, login, user };
}

t.test('a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { acme, web, alice, developers, reader, login, user } = await seed(keystone);
  const put = (path: string) => keystone.call('PUT', path);
  const remove = (path: string) => keystone.call('DELETE', path);
  const authority = await createAuthority('API servers');
  const folder = t.testdir({ 'hook-ca.crt': authority.cert });
  const tls = { certFile: 'tls.crt', keyFile: 'tls.key', clientCAFile: 'hook-ca.crt' };
  const stonegate = await startStonegate(t, {
    folder,
    mode: 'shared',
    configuration: {
      authentication: { keystone: { url: keystone.url, cacheTTL: '1ms', negativeCacheTTL: '1ms' } },
      webhook: { bind: '127.0.0.1:0', usernames: 'legacy', tls },
    },
  });
  const client = createWebhookClient({
    port: stonegate.app.addresses.webhook?.port ?? 0,
    ca: stonegate.authority.cert,
    own: await authority.client('kube-apiserver'),
  });
  t.teardown(() => client.close());

  await t.test(
    'C216 a review has the name, id, groups by name, project and the five attributes',
    async (t) => {
      const { status, body } = await client.reviewToken(await login('alice'));
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
      t.ok(stonegate.logged.some((line) => line.includes('webhook.usernames: is legacy')));
    },
  );

  await t.test('a user who leaves the group has no role on the project any more', async (t) => {
    const token = await login('alice');
    t.match((await client.reviewToken(token)).body.status, { authenticated: true });
    await remove(`/groups/${developers}/users/${alice}`);
    t.same((await client.reviewToken(token)).body.status, UNAUTHENTICATED);
  });

  await t.test('a deleted user is not authenticated', async (t) => {
    const grace = await user('grace');
    await put(`/projects/${web}/users/${grace}/roles/${reader}`);
    const token = await login('grace');
    t.match((await client.reviewToken(token)).body.status, { authenticated: true });
    await remove(`/users/${grace}`);
    t.same((await client.reviewToken(token)).body.status, UNAUTHENTICATED);
  });
});
