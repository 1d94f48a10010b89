/**
 * `stonegate who-can --people` with a real Keystone and a real kube-apiserver: the names of projects and
 * roles, the users who hold a role now, and the output if Keystone cannot be reached.
 */
import t from 'tap';
import { whoCan } from '../../src/cli/who-can.ts';
import { eventually } from '../support/eventually.ts';
import { BRIDGE, makeBridge } from '../support/keystone/bridge.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind } from '../support/kubernetes/rbac.ts';
import { isAllowed, type KubernetesSite, startKubernetesSite } from '../support/kubernetes/site.ts';
import { printedBy } from '../support/printed-io.ts';

const UNKNOWN = 'f'.repeat(32);

/** Project `web` of acme: alice is a member directly, bob through a group, dave through an implied role. */
async function seed(keystone: RealKeystone) {
  const { make, call, role } = keystone;
  const put = (path: string) => call('PUT', path);
  const [member, lead] = [await role('member'), await role('lead')];
  await put(`/roles/${lead}/implies/${member}`);
  const [acme, globex] = [await make('domains', { name: 'acme' }), await make('domains', { name: 'globex' })];
  const web = await make('projects', { name: 'web', domain_id: acme });
  const plans = await make('projects', { name: 'plans', domain_id: globex });
  const user = (name: string, domain = acme) =>
    make('users', { name, domain_id: domain, password: `${name}-pass` });
  await makeBridge(keystone);
  await put(`/projects/${web}/users/${await user('alice')}/roles/${member}`);
  await put(`/projects/${web}/users/${await user('dave')}/roles/${lead}`);
  await put(`/projects/${plans}/users/${await user('gina', globex)}/roles/${member}`);
  const developers = await make('groups', { name: 'developers', domain_id: acme });
  await put(`/groups/${developers}/users/${await user('bob')}`);
  await put(`/projects/${web}/groups/${developers}/roles/${member}`);
  const carol = await user('carol');
  await put(`/projects/${web}/users/${carol}/roles/${member}`);
  await call('PATCH', `/users/${carol}`, { user: { enabled: false } });
  return { acme, web, plans };
}

/** Binds members of the projects and of a deleted one, and holders of a role that Keystone does not have. */
async function bindTeams({ kubernetes }: KubernetesSite, { web, plans }: { web: string; plans: string }) {
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
  const teams = [
    `group:keystone:project:${web}:role:member`,
    `group:keystone:project:${web}:role:ghost`,
    `group:keystone:project:${plans}:role:member`,
    `group:keystone:project:${UNKNOWN}:role:member`,
  ] as const;
  const place = { namespace: 'shop', role: 'cluster-admin' };
  await bind(kubernetes, { ...place, name: 'teams', subjects: teams });
  await bind(kubernetes, { ...place, name: 'asks', subjects: ['user:acme:alice'] });
  const resourceAttributes = {
    verb: 'create',
    group: 'stonegate.dev',
    resource: 'localresourceaccessreviews',
    namespace: 'shop',
  };
  await eventually(() => isAllowed(kubernetes, { user: 'acme:alice', resourceAttributes }));
}

t.test('who-can with a real Keystone', { skip: missingKeystone() || missingKubernetes() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const seeded = await seed(keystone);
  const site = await startKubernetesSite(t, {
    stonegateFiles: { 'bridge-password': 'bridge-pass' },
    configuration: {
      access: { index: true },
      authentication: {
        keystone: {
          url: keystone.url,
          serviceCredential: BRIDGE,
          timeout: '30s',
          cacheTTL: '1h',
        },
      },
    },
  });
  await bindTeams(site, seeded);
  const { stonegate } = site;
  const scope = { project: { id: seeded.web } };
  const token = await keystone.login(passwordOf('alice', 'acme', 'alice-pass'), scope);
  const files = t.testdir({ 'ca.crt': stonegate.authority.cert, token });
  const address = [
    '--server',
    stonegate.url,
    '--ca-file',
    `${files}/ca.crt`,
    '--token-file',
    `${files}/token`,
  ];
  const run = (...argv: readonly string[]) =>
    printedBy(whoCan, ['delete', 'secrets', '-n', 'shop', ...argv, ...address], {});
  await eventually(async () => (await run()).stdout.includes('acme:alice'));

  await t.test('groups are named, and --people lists the users who hold the role now', async (t) => {
    const { code, stdout, stderr } = await run('--people');
    t.equal(code, 0, stderr);
    const lines = stdout.split('\n').map((line) => line.trimEnd());
    const at = lines.findIndex((line) => line.includes('role member on project web'));
    t.match(lines[at], `(keystone:project:${seeded.web}:role:member)`);
    t.same(
      lines.slice(at + 1, at + 4).map((line) => line.trim()),
      ['alice@acme', 'bob@acme', 'dave@acme'],
      'also through a group or an implied role, but no disabled user',
    );
    t.notMatch(stdout, 'carol');
  });

  await t.test('the output says that no user holds a role that Keystone does not have', async (t) => {
    const { stdout } = await run('--people');
    t.match(stdout, /role ghost on project web .*\n +\(no enabled user holds it now\)\n/);
  });

  await t.test('names of another domain, and of a deleted project, are not shown', async (t) => {
    for (const format of ['table', 'json', 'yaml']) {
      const { stdout, stderr } = await run('--people', '-o', format);
      t.match(stdout, /project web/);
      t.notMatch(stdout, /plans|gina/);
      t.match(stdout, `keystone:project:${seeded.plans}:role:member`, 'alice may read the binding');
      t.notMatch(stderr, /plans|gina/);
    }
  });

  await t.test('if Keystone cannot be reached, the command warns and prints the rest', async (t) => {
    const before = await run();
    await keystone.stop();
    const { code, stdout, stderr } = await run('--people');
    t.equal(code, 0, stderr);
    t.match(stderr, 'stonegate who-can: Keystone cannot be asked for the people of each role\n');
    t.equal(stdout, before.stdout, 'the output is the same as without --people');
  });
});
