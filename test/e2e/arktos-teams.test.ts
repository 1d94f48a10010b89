/**
 * Teams and members on Arktos: teams are stored in the system tenant, where users of other tenants cannot
 * reach them, and count in their own tenant alone.
 */
import { join } from 'node:path';
import t from 'tap';
import { prepareCrossTenant } from '../support/cross-tenant.ts';
import { eventually } from '../support/eventually.ts';
import { posted } from '../support/https-client.ts';
import { rule } from '../support/policy-rule.ts';
import { serveTestbed } from '../support/stonegate.ts';
import { createTestbed, type Testbed } from '../support/testbed.ts';
import { startTokenStandIn } from '../support/token-standin.ts';

const TEAMS = '/apis/stonegate.dev/v1alpha1/teams';
const STORED = '/apis/tenancy.stonegate.dev/v1alpha1/tenants/system/namespaces/stonegate/teams';
const GROUP = 'stonegate:team:acme:web';

t.test('the system tenant has no members: their roles would count in every tenant', async (t) => {
  const stonegate = await startTokenStandIn(t, {
    configuration: {
      access: { index: true },
      members: {},
      tenancy: { mode: 'arktos', domains: { acme: 'system' } },
    },
    async prepare({ apiServer: { seed } }) {
      const tenant = 'system';
      const all = [rule('*', '*', '*')];
      for (const role of ['everything', 'stonegate:read']) seed.clusterRole(role, all, { tenant });
      seed.clusterRoleBinding('admins', 'everything', ['user:system:stonegate:alice'], { tenant });
    },
  });
  const alice = stonegate.keystoneToken('alice');
  const members = '/apis/stonegate.dev/v1alpha1/namespaces/default/members';
  await eventually(async () => (await stonegate.ask(alice, members)).status === 200);
  for (const [path, kind, object] of [
    [members, 'Member', { spec: { type: 'User', name: 'carol', role: 'read' } }],
    [TEAMS, 'Team', { metadata: { name: 'web' }, spec: { members: ['carol'] } }],
    [
      '/apis/stonegate.dev/v1alpha1/invitations',
      'Invitation',
      { spec: { namespace: 'default', role: 'read' } },
    ],
  ] as const) {
    const made = posted({ apiVersion: 'stonegate.dev/v1alpha1', kind, ...object });
    const answer = await stonegate.ask(alice, path, made);
    t.equal(answer.status, 403, answer.body);
    t.match(answer.body, /applies in the namespace of that name of every tenant/, kind);
  }
});

t.test('a team gives its members rights in its own tenant alone', async (t) => {
  const testbed = await createTestbed({ folder: join(t.testdir({}), 'land'), mode: 'arktos' });
  const { seed } = testbed.apiServer;
  await prepareCrossTenant(testbed, { configuration: { access: { index: true }, members: {} } });
  seed.namespace('stonegate', { tenant: 'system' });
  for (const tenant of ['acme', 'globex']) {
    const all = [rule('*', '*', '*')];
    seed.clusterRole('everything', all, { tenant });
    seed.roleBinding('web', 'everything', [`group:${GROUP}`], { tenant });
  }
  seed.clusterRoleBinding('admins', 'everything', ['user:acme:alice'], { tenant: 'acme' });
  seed.clusterRoleBinding('admins', 'everything', ['user:globex:bob'], { tenant: 'globex' });
  const stonegate = await serveTestbed(t, testbed);
  const { directory } = testbed.keystone;
  const [alice, bob] = [stonegate.keystoneToken('alice'), stonegate.keystoneToken('bob')];
  const carol = testbed.keystone.issue(directory.user('acme', 'carol'));
  const pods = async (token: string) =>
    (await stonegate.ask(token, '/api/v1/namespaces/default/pods')).status;
  const post = (token: string, kind: string, path: string, object: object) =>
    stonegate.ask(token, path, posted({ apiVersion: 'stonegate.dev/v1alpha1', kind, ...object }));

  t.equal(await pods(carol), 403);
  const team = { metadata: { name: 'web' }, spec: { members: ['carol', 'globex:bob'] } };
  const created = await post(alice, 'Team', TEAMS, team);
  t.equal(created.status, 201, created.body);
  t.strictSame(JSON.parse(created.body).spec.members, ['acme:carol', 'acme:globex:bob']);
  await eventually(async () => (await pods(carol)) === 200);

  const whoami = await stonegate.ask(carol, '/apis/stonegate.dev/v1alpha1/selfidentity');
  t.ok(JSON.parse(whoami.body).status.user.groups.includes(GROUP));
  t.equal((await stonegate.ask(bob, TEAMS)).status, 200);
  t.strictSame(JSON.parse((await stonegate.ask(bob, TEAMS)).body).items, []);
  t.equal((await stonegate.ask(bob, `${TEAMS}/web`)).status, 404);
  for (const token of [alice, bob])
    t.not(
      (await stonegate.ask(token, STORED)).status,
      200,
      'users of tenants cannot read the stored objects',
    );
  t.equal((await stonegate.ask(alice, `${TEAMS}/web`, { method: 'DELETE' })).status, 200);
  await eventually(async () => (await pods(carol)) === 403);
});

t.test('a tenant made anew under the name of a deleted one inherits no token and no team', async (t) => {
  const parts: Testbed[] = [];
  const stonegate = await startTokenStandIn(t, {
    configuration: { access: { index: true }, members: {} },
    async prepare(testbed) {
      parts.push(testbed);
    },
  });
  const [testbed] = parts;
  if (testbed === undefined) throw new Error('nothing was prepared');
  const { cluster, seed } = testbed.apiServer;
  const stored = () =>
    ['accesstokens', 'teams'].flatMap((resource) => cluster.store.list({ tenant: 'system', resource }));
  const alice = stonegate.keystoneToken('alice');
  const groups = async () => {
    const { body } = await stonegate.ask(alice, '/apis/stonegate.dev/v1alpha1/selfidentity');
    return JSON.parse(body).status.user.groups;
  };

  const { secret } = await stonegate.make(alice, 'tenant/read');
  const team = { metadata: { name: 'web' }, spec: { members: ['alice'] } };
  const made = posted({ apiVersion: 'stonegate.dev/v1alpha1', kind: 'Team', ...team });
  t.equal((await stonegate.ask(alice, TEAMS, made)).status, 201);
  t.equal((await stonegate.ask(secret, '/api/v1/namespaces/default/pods')).status, 200);
  await eventually(async () => (await groups()).includes(GROUP));

  const roles = ['clusterroles', 'clusterrolebindings'].flatMap((resource) =>
    cluster.store.list({ tenant: 'acme', resource }),
  );
  cluster.remove({ tenant: '', group: '', resource: 'tenants', namespace: '', name: 'acme' });
  seed.tenant('acme');
  for (const { location, object } of roles) cluster.store.put(location, object);
  await eventually(
    async () => (await stonegate.ask(secret, '/api/v1/namespaces/default/pods')).status === 401,
  );
  t.notOk((await groups()).includes(GROUP));
  t.equal((await stonegate.ask(alice, `${TEAMS}/web`)).status, 404);
  await eventually(() => stored().length === 0);

  const next = await stonegate.make(alice, 'tenant/read');
  await eventually(
    async () => (await stonegate.ask(next.secret, '/api/v1/namespaces/default/pods')).status === 200,
  );
  t.equal((await stonegate.ask(alice, TEAMS, made)).status, 201);
  await eventually(async () => (await groups()).includes(GROUP));
  t.equal(stored().length, 2);
});
