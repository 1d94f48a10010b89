/**
 * A whole Stonegate with a real Keystone: each way in which a user gains or loses a role or a token changes
 * what they may do. Tokens are cached for an hour here, so that only revocation events can end them.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { BRIDGE, makeBridge } from '../support/keystone/bridge.ts';
import { bridgeWith, keystoneClient } from '../support/keystone/client.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { rule } from '../support/policy-rule.ts';
import { startStonegate } from '../support/stonegate.ts';

const IN_WEB = '/api/v1/namespaces/web/configmaps';
const CONFIGMAPS = [rule('*', 'configmaps')];

async function seed(keystone: RealKeystone) {
  const [member, reader, lead] = [
    await keystone.role('member'),
    await keystone.role('reader'),
    await keystone.role('lead'),
  ];
  await keystone.call('PUT', `/roles/${lead}/implies/${member}`);
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const user = (name: string, domain = acme) =>
    keystone.make('users', { name, domain_id: domain, password: `${name}-pass` });
  await makeBridge(keystone);
  return { acme, web, member, reader, lead, user };
}

/** A Stonegate for this Keystone, with a tenant in which members of `web` have rights in its namespace. */
async function startBefore(folder: string, keystone: RealKeystone, web: string) {
  const stonegate = await startStonegate(t, { folder });
  const { seed: objects } = stonegate.apiServer;
  const place = { tenant: 'acme', namespace: 'web' };
  objects.clusterRole('configmaps', CONFIGMAPS, { tenant: 'acme' });
  objects.namespace('web', { tenant: 'acme' });
  objects.roleBinding('members', 'configmaps', [`group:keystone:project:${web}:role:member`], place);
  await writeFile(join(folder, 'bridge-password'), 'bridge-pass');
  await stonegate.configure({
    authentication: {
      keystone: {
        url: keystone.url,
        serviceCredential: BRIDGE,
        timeout: '30s',
        cacheTTL: '1h',
        roleAssignments: { cacheTTL: '1s' },
        revocationEvents: { interval: '500ms' },
      },
    },
    bindings: { namespaceFormat: '%n' },
  });
  await stonegate.app.reload();
  return stonegate;
}

t.test('roles and tokens of a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { acme, web, member, reader, user } = await seed(keystone);
  const stonegate = await startBefore(t.testdir(), keystone, web);
  const unscoped = (name: string) => keystone.login(passwordOf(name, 'acme', `${name}-pass`), 'unscoped');
  const becomes = async (t: Test, token: string, status: number) => {
    await eventually(async () => (await stonegate.ask(token, IN_WEB)).status === status);
    t.pass(`becomes ${status}`);
  };
  const put = (path: string) => keystone.call('PUT', path);
  const remove = (path: string) => keystone.call('DELETE', path);

  await t.test('a role assignment takes effect when it is added and when it is removed', async (t) => {
    const place = `/projects/${web}/users/${await user('ann')}/roles/${member}`;
    const token = await unscoped('ann');
    await becomes(t, token, 403);
    await put(place);
    await becomes(t, token, 200);
    await remove(place);
    await becomes(t, token, 403);
  });

  await t.test(
    'a role of a group takes effect, and a user who is removed from the group loses their tokens',
    async (t) => {
      const dan = await user('dan');
      const group = await keystone.make('groups', { name: 'crew', domain_id: acme });
      const token = await unscoped('dan');
      await put(`/groups/${group}/users/${dan}`);
      await put(`/projects/${web}/groups/${group}/roles/${member}`);
      await becomes(t, token, 200);
      await remove(`/groups/${group}/users/${dan}`);
      await becomes(t, token, 401);
    },
  );

  await t.test('rights in a project end while it is disabled', async (t) => {
    await put(`/projects/${web}/users/${await user('eve')}/roles/${member}`);
    const token = await unscoped('eve');
    await becomes(t, token, 200);
    await keystone.call('PATCH', `/projects/${web}`, { project: { enabled: false } });
    await becomes(t, token, 403);
    await keystone.call('PATCH', `/projects/${web}`, { project: { enabled: true } });
    await becomes(t, token, 200);
  });

  const endings: Readonly<Record<string, (id: string, token: string) => Promise<unknown>>> = {
    'a token that is deleted': (_, token) =>
      keystone.call('DELETE', '/auth/tokens', undefined, { 'X-Subject-Token': token }),
    'a user who is disabled': (id) => keystone.call('PATCH', `/users/${id}`, { user: { enabled: false } }),
    'a user who is deleted': (id) => remove(`/users/${id}`),
    'a password that is reset': (id) => keystone.call('PATCH', `/users/${id}`, { user: { password: 'new' } }),
  };
  for (const [index, [what, end]] of Object.entries(endings).entries())
    await t.test(`${what}: a revocation event ends access`, async (t) => {
      const name = `fay${index}`;
      const id = await user(name);
      await put(`/projects/${web}/users/${id}/roles/${member}`);
      const token = await unscoped(name);
      await becomes(t, token, 200);
      await end(id, token);
      await becomes(t, token, 401);
    });

  await t.test('the directory resolves groups and implied roles on the system too', async (t) => {
    const { directory } = keystoneClient(t, {
      url: keystone.url,
      credential: bridgeWith({ system: true }),
    });
    if (directory === undefined) throw new Error('there is no directory');
    const gus = await user('gus');
    const group = await keystone.make('groups', { name: 'auditors', domain_id: acme });
    await put(`/groups/${group}/users/${gus}`);
    await put(`/system/groups/${group}/roles/${member}`);
    const held = await directory.roleAssignmentsOf(gus);
    t.same(
      held.map(({ role, scope }) => [role.name, scope.kind]).sort(),
      [
        ['member', 'system'],
        ['reader', 'system'],
      ],
      'member implies reader',
    );
    t.match(held[0]?.user, { id: gus, name: 'gus', domain: { id: acme, name: 'acme' } });
    t.same(await directory.roleAssignmentsOf('0'.repeat(32)), []);
    t.match(await directory.projects(), [{ name: String, domainID: String, enabled: true }]);
    t.ok((await directory.domains()).some(({ id }) => id === acme));
    t.ok((await directory.roleNames()).includes('lead'));
    t.equal((await directory.disabledUserIDs()).size, 1);
    t.ok((await directory.roleAssignments()).some(({ role }) => role.id === reader));
    await keystone.call('PATCH', `/projects/${web}`, { project: { enabled: false } });
    t.same(await directory.disabledScopes(), { projectIDs: new Set([web]), domainIDs: new Set() });
  });
});
