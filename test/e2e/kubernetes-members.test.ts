/**
 * Members of a namespace at a real kube-apiserver: who sees them, and that changes are made with the rights
 * of the user.
 */
import t from 'tap';
import { check } from '../../src/app/commands/check.ts';
import { members as membersCommand } from '../../src/cli/members.ts';
import { createKubectl, findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { startMembersSite } from '../support/kubernetes/members-site.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, RBAC } from '../support/kubernetes/rbac.ts';
import { printedManifests } from '../support/manifests.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const binaries = findAllKubectls();
const missing = missingKubernetes() || (binaries.length === 0 && NO_KUBECTL);
const OWN = '/apis/stonegate.dev/v1alpha1';
const MEMBERS = `${OWN}/namespaces/acme-web/members`;
const BINDINGS = `${RBAC}/namespaces/acme-web/rolebindings`;

interface ShownMember {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly type: string; readonly name: string; readonly role: string };
  readonly status: {
    readonly owner: boolean;
    readonly from: readonly { readonly kind: string; readonly name: string }[];
  };
}

t.test('members of a namespace', { skip: missing }, async (t) => {
  const { kubernetes, testbed, stonegate } = await startMembersSite(t);
  const warnings = async () => (await printedBy(check, ['--config', testbed.configFile])).stderr;
  t.match(await warnings(), /no ClusterRole stonegate:read, .* `stonegate manifests roles --config FILE`/);
  for (const role of await printedManifests('roles', '--mode', 'shared'))
    await kubernetes.create(`${RBAC}/clusterroles`, role);
  t.notMatch(await warnings(), /ClusterRole/);
  for (const name of ['acme-web', 'acme-lab', 'globex-lab'])
    await kubernetes.create('/api/v1/namespaces', { metadata: { name } });
  const place = { namespace: 'acme-web' };
  const manage = 'stonegate:manage';
  await bind(kubernetes, { ...place, name: 'owners', role: manage, subjects: ['user:acme:alice'] });
  await bind(kubernetes, {
    name: 'lab',
    namespace: 'globex-lab',
    role: manage,
    subjects: ['user:globex:bob'],
  });
  const { keystone } = testbed;
  const tokenOf = (name: string, tenant = 'acme') => keystone.issue(keystone.directory.user(tenant, name));
  const alice = stonegate.keystoneToken('alice');
  const [edith, rita, bob] = [tokenOf('edith'), tokenOf('rita'), stonegate.keystoneToken('bob')];

  const ask = async (token: string, method: string, path: string, object?: object) => {
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const headers = { 'content-type': 'application/json' };
    const reply = await stonegate.ask(token, path, { method, headers, ...body });
    return { ...reply, json: JSON.parse(reply.body) };
  };
  const member = (name: string, role: string, more: object = {}) => ({
    kind: 'Member',
    apiVersion: 'stonegate.dev/v1alpha1',
    spec: { type: 'User', name, role, ...more },
  });
  const listed = async (token = alice): Promise<readonly ShownMember[]> =>
    (await ask(token, 'GET', MEMBERS)).json.items ?? [];
  const find = async (name: string) => (await listed()).find(({ spec }) => spec.name === name);
  const hasRole = (name: string, role: string | undefined) =>
    eventually(async () => (await find(name))?.spec.role === role);
  await hasRole('acme:alice', 'manage');

  await t.test('a member can give a role that they have, and giving it again is no error', async (t) => {
    t.match(await ask(alice, 'POST', MEMBERS, member('edith', 'edit')), {
      status: 201,
      json: { kind: 'Member', spec: { name: 'acme:edith', role: 'edit' }, status: { owner: false } },
    });
    t.equal((await ask(alice, 'POST', MEMBERS, member('acme:edith', 'edit'))).status, 201);
    t.equal((await ask(alice, 'POST', MEMBERS, member('rita', 'read'))).status, 201);
    await hasRole('acme:edith', 'edit');
    await hasRole('acme:rita', 'read');
    const { items } = JSON.parse((await kubernetes.ask(kubernetes.admin, BINDINGS)).body);
    t.equal(items.length, 3);
  });

  await t.test('the API server refuses a role that the user who gives it does not have', async (t) => {
    const own = await ask(edith, 'POST', MEMBERS, member('edith', 'manage'));
    t.match(own, {
      status: 403,
      json: { reason: 'Forbidden', message: /cannot create resource "rolebindings"/ },
    });
    await bind(kubernetes, {
      ...place,
      name: 'writers',
      role: 'writes-bindings',
      subjects: ['user:acme:edith'],
    });
    const rules = [rule('*', 'rolebindings', 'rbac.authorization.k8s.io')];
    await kubernetes.create(`${RBAC}/clusterroles`, { metadata: { name: 'writes-bindings' }, rules });
    await eventually(async () => (await ask(edith, 'POST', MEMBERS, member('rita', 'edit'))).status === 201);
    const more = await ask(edith, 'POST', MEMBERS, member('edith', 'manage'));
    t.match(more, {
      status: 403,
      json: { message: /attempting to grant RBAC permissions not currently held/ },
    });
    await kubernetes.admit('DELETE', `${BINDINGS}/writers`);
    await hasRole('acme:rita', 'edit');
  });

  await t.test('users who see the namespace see its members, but not the bindings', async (t) => {
    const shown = await listed(rita);
    t.same(
      shown.map(({ spec }) => [spec.name, spec.role]),
      [
        ['acme:alice', 'manage'],
        ['acme:edith', 'edit'],
        ['acme:rita', 'edit'],
      ],
    );
    t.ok(shown.every(({ status }) => status.from.length === 0));
    const id = shown[1]?.metadata.name ?? '';
    t.equal((await ask(rita, 'GET', `${MEMBERS}/${id}`)).status, 200);
    t.match(await ask(rita, 'DELETE', `${MEMBERS}/${id}`), { status: 403 });
  });

  await t.test('another tenant cannot tell the namespace from one that does not exist', async (t) => {
    for (const method of ['GET', 'POST'] as const) {
      const body = method === 'POST' ? member('bob', 'read') : undefined;
      const there = await ask(bob, method, MEMBERS, body);
      const nowhere = await ask(bob, method, MEMBERS.replace('acme-web', 'acme-xxx'), body);
      const { details: _, ...status } = there.json;
      const { details: __, ...expected } = nowhere.json;
      t.same(status, { ...expected, message: expected.message.replace('acme-xxx', 'acme-web') });
      t.equal(there.status, 404);
    }
  });

  await t.test('the highest of several roles counts, and warnings name what remains', async (t) => {
    const added = await ask(alice, 'POST', MEMBERS, member('edith', 'read'));
    t.match(added.headers.warning, /another way in: RoleBinding member:user-acme-edith-\w+:edit grants edit/);
    t.equal(added.json.spec.role, 'edit');
    await bind(kubernetes, { name: 'admins', role: 'stonegate:manage', subjects: ['user:acme:edith'] });
    await hasRole('acme:edith', 'manage');
    const { name: id = '' } = (await find('acme:edith'))?.metadata ?? {};
    const removed = await ask(alice, 'DELETE', `${MEMBERS}/${id}`);
    t.match(removed, { status: 200, headers: { warning: /another way in: a binding of the whole cluster/ } });
    const again = () => ask(alice, 'DELETE', `${MEMBERS}/${id}`);
    await eventually(async () => (await again()).status === 409);
    t.match(await again(), { json: { reason: 'Conflict', message: /nothing can be removed here/ } });
    await kubernetes.admit('DELETE', `${RBAC}/clusterrolebindings/admins`);
    await hasRole('acme:edith', undefined);
  });

  await t.test('changing one subject of a binding leaves the others', async (t) => {
    const subjects = ['user:acme:edith', 'group:auditors'] as const;
    await bind(kubernetes, { ...place, name: 'many', role: 'stonegate:read', subjects });
    await hasRole('acme:edith', 'read');
    const edith = await find('acme:edith');
    const id = edith?.metadata.name ?? '';
    t.equal((await ask(alice, 'PUT', `${MEMBERS}/${id}`, member('acme:edith', 'edit'))).status, 200);
    await hasRole('acme:edith', 'edit');
    t.match((await find('acme:edith'))?.status.from, [{ name: `member:${id}:edit` }]);
    t.match((await find('auditors'))?.spec, { type: 'Group', role: 'read' });
  });

  await t.test('a binding that Stonegate makes from a Keystone role cannot be removed here', async (t) => {
    await kubernetes.create(BINDINGS, {
      metadata: { name: 'stonegate:project', labels: { 'stonegate.dev/managed-by': 'stonegate' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'stonegate:read' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'keystone:project:p1' }],
    });
    await hasRole('keystone:project:p1', 'read');
    const id = (await find('keystone:project:p1'))?.metadata.name ?? '';
    t.match(await ask(alice, 'DELETE', `${MEMBERS}/${id}`), {
      status: 409,
      json: { message: /Keystone's roles/ },
    });
    await kubernetes.admit('DELETE', `${BINDINGS}/stonegate:project`);
  });

  await t.test('the last member who may manage cannot be removed, except by force', async (t) => {
    const id = (await find('acme:alice'))?.metadata.name ?? '';
    const path = `${MEMBERS}/${id}`;
    t.match(await ask(alice, 'DELETE', path), {
      status: 409,
      json: { message: /is the last one who may manage/ },
    });
    t.match(await ask(alice, 'PUT', path, member('acme:alice', 'edit')), { status: 409 });
    const dryRun = await ask(
      alice,
      'PUT',
      `${path}?dryRun=All`,
      member('acme:alice', 'edit', { force: true }),
    );
    t.equal(dryRun.status, 200);
    t.match(await kubernetes.ask(kubernetes.admin, `${BINDINGS}/owners`), { status: 200 });
    const target = { server: stonegate.url, ca: stonegate.authority.cert, token: alice };
    const kubectl = createKubectl(t, binaries.at(-1) ?? '', target);
    const words = ['delete', 'member', id, '-n', 'acme-web', '--dry-run=server'];
    t.match(await kubectl.run(words), { code: 1, stderr: /the last one who may manage/ });
    t.match(await kubectl.run([...words, '--force']), { code: 0 });
    t.match(await kubernetes.ask(kubernetes.admin, `${BINDINGS}/owners`), { status: 200 });
    t.equal((await ask(alice, 'POST', MEMBERS, member('edith', 'manage'))).status, 201);
    await hasRole('acme:edith', 'manage');
    t.equal((await ask(alice, 'PUT', path, member('acme:alice', 'manage'))).status, 200);
  });

  await t.test('D439 a search finds only users who share a namespace with the searching user', async (t) => {
    const search = async (token: string, prefix: string) => {
      const object = { kind: 'PeopleSearch', apiVersion: 'stonegate.dev/v1alpha1', spec: { prefix } };
      return (await ask(token, 'POST', `${OWN}/peoplesearches`, object)).json.status.people;
    };
    t.same(await search(alice, 'ed'), ['acme:edith']);
    t.same(await search(alice, 'acme:r'), ['acme:rita']);
    t.same(await search(alice, 'globex:bob'), await search(alice, 'no such user'));
    t.same(await search(bob, 'edith'), []);
    t.same(await search(tokenOf('newcomer'), 'a'), []);
  });

  for (const binary of binaries)
    await t.test(`${binary.split('/').at(-1)}`, async (t) => {
      const address = { server: stonegate.url, ca: stonegate.authority.cert, token: alice };
      const kubectl = createKubectl(t, binary, address);
      const run = (words: readonly string[], object?: object) =>
        kubectl.run([...words, '-n', 'acme-web'], object === undefined ? '' : JSON.stringify(object));
      const created = await run(['create', '-f', '-'], member('carol', 'control'));
      t.match(created, { code: 0, stdout: /^member.stonegate.dev\/user-acme-carol-\w+ created/ });
      await hasRole('acme:carol', 'control');
      const table = await run(['get', 'members']);
      t.match(table.stdout, /^NAME +TYPE +MEMBER +ROLE +OWNER +FROM\n/, table.stderr);
      t.match(
        table.stdout,
        /user-acme-carol-\w+ +User +acme:carol +control +false +RoleBinding\/member:\S+\n/,
      );
      const id = (await find('acme:carol'))?.metadata.name ?? '';
      const json = JSON.parse((await run(['get', 'member', id, '-o', 'json'])).stdout);
      const replaced = await run(['replace', '-f', '-'], { ...json, spec: { ...json.spec, role: 'read' } });
      t.match(replaced, { code: 0 }, replaced.stderr);
      await hasRole('acme:carol', 'read');
      const deleted = await run(['delete', 'member', id]);
      t.match(deleted, { code: 0 }, deleted.stderr);
      await hasRole('acme:carol', undefined);
      t.match(await run(['delete', 'member', id]), { code: 1, stderr: /NotFound/ });
    });

  await t.test('stonegate members lists, adds, changes and removes members', async (t) => {
    const files = t.testdir({ 'ca.crt': stonegate.authority.cert, token: alice });
    const run = (...words: readonly string[]) =>
      printedBy(membersCommand, [
        ...['--server', stonegate.url, '--ca-file', `${files}/ca.crt`, '--token-file', `${files}/token`],
        ...['-n', 'acme-web', ...words],
      ]);
    t.match(await run('add', 'web:builder', 'edit', '--type', 'serviceaccount'), {
      code: 0,
      stdout: /ServiceAccount +web:builder +edit/,
    });
    t.match(await run('add', 'carol', 'edit'), { code: 0 });
    await hasRole('acme:carol', 'edit');
    t.match(await run('set', 'carol', 'read'), { code: 0, stdout: /User +acme:carol +read/, stderr: '' });
    await hasRole('acme:carol', 'read');
    t.match((await run()).stdout, /^TYPE +NAME +ROLE +OWNER +FROM\n/);
    t.match(await run('remove', 'carol'), { code: 0, stderr: /acme:carol was removed/ });
    await hasRole('acme:carol', undefined);
    t.match(await run('remove', 'carol'), { code: 1, stderr: /is no member of acme-web/ });
    t.match(await run('remove', 'edith'), { code: 0 });
    await hasRole('acme:edith', undefined);
    t.match(await run('remove', 'alice'), { code: 1, stderr: /--force/ });
    t.match(await run('grant', 'alice'), { code: 2 });
    t.match(await run('add', 'carol', 'edti'), { code: 1, stderr: /there is no ClusterRole "edti"/ });
    t.match(await run('remove', 'alice', '--force'), { code: 0 });
    t.match(await run(), { code: 1, stderr: /namespaces "acme-web" not found/ });
  });
});
