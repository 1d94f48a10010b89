/** `kubectl --as` through Stonegate: the caller's own rights decide, within the caller's tenant. */
import t, { type Test } from 'tap';
import { type Kubectl, kubectlsOrSkip } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { fails, startForKubectl, succeeds } from '../support/kubectl-users.ts';
import { rule } from '../support/policy-rule.ts';

/** The first minor version of kubectl with `auth whoami`. */
const FIRST_WITH_WHOAMI = 27;
const READING = [rule('get,list', 'pods')];
const ACTING = [
  { ...rule('impersonate', 'users'), resourceNames: ['acme:reader', 'acme:zoë'] },
  { ...rule('impersonate', 'groups'), resourceNames: ['readers'] },
  rule('impersonate', 'uids,userextras/example.com/reason', 'authentication.k8s.io'),
];

/** Dave of acme may act as its user `reader`, whose group may read pods; Stonegate may forward an extra. */
async function start(t: Test) {
  const configuration = { authentication: { impersonationExtraKeys: ['example.com/reason'] } };
  const everybody = await startForKubectl(t, { mode: 'arktos', configuration });
  const { seed } = everybody.stonegate.apiServer;
  const tenant = { tenant: 'acme' };
  seed.clusterRole('acting', ACTING, tenant);
  seed.clusterRoleBinding('acting', 'acting', ['user:acme:dave'], tenant);
  seed.clusterRole('reading', READING, tenant);
  seed.roleBinding('reading', 'reading', ['group:readers'], { ...tenant, namespace: 'default' });
  seed.clusterRole('reasons', [
    rule('impersonate', 'userextras/example.com/reason', 'authentication.k8s.io'),
  ]);
  seed.clusterRoleBinding('reasons', 'reasons', ['user:stonegate']);
  return everybody;
}

const AS_READER = ['--as', 'reader', '--as-group', 'readers'];
const binaries = kubectlsOrSkip(t, 'kubectl --as');
for (const binary of binaries)
  t.test(`${binary.split('/').at(-1)} --as`, async (t) => {
    const { as, newcomer, stonegate } = await start(t);
    const dave = as(binary, newcomer('dave'));
    await t.test(
      'C007 C008 users can impersonate the users they may, and then have those users’ rights',
      async (t) => {
        t.match(await fails(t, dave, ['get', 'pods']), /User "acme:dave" cannot list/);
        t.match(await succeeds(t, dave, ['get', 'pods', ...AS_READER]), /^web /m);
        t.match(
          await fails(t, dave, ['delete', 'pod', 'web', ...AS_READER]),
          /User "acme:reader" cannot delete resource "pods"/,
        );
      },
    );
    await t.test('C011 C013 C014 impersonation without the right is refused in Kubernetes’ own words', (t) =>
      refusals(t, dave),
    );
    await t.test('auth can-i and whoami show the impersonated user', (t) => oneself(t, dave));
    await t.test('the audit log names both users', async (t) => {
      await succeeds(t, dave, ['get', 'pod', 'web', ...AS_READER]);
      const events = async () =>
        (await stonegate.audited()).filter(
          ({ stage, verb, objectRef }) =>
            stage === 'ResponseComplete' && verb === 'get' && objectRef?.name === 'web',
        );
      await eventually(async () => (await events()).length === 1);
      t.match(await events(), [
        {
          user: { username: 'acme:dave' },
          impersonatedUser: { username: 'acme:reader', groups: ['readers', /.*/] },
          responseStatus: { code: 200 },
        },
      ]);
    });
  });

async function refusals(t: Test, dave: Kubectl) {
  const refused = async (words: readonly string[], expected: RegExp) => {
    const complaint = await fails(t, dave, ['get', '--raw', '/api/v1/namespaces/acme/pods', ...words]);
    t.match(complaint, /^Error from server \(Forbidden\)/m);
    t.match(complaint, expected);
  };
  const cannot = 'is forbidden: User "acme:dave" cannot impersonate resource';
  await refused(['--as', 'bob'], new RegExp(`users "acme:bob" ${cannot} "users" in API group ""`));
  await refused(['--as', 'globex:bob'], new RegExp(`users "acme:globex:bob" ${cannot} "users"`));
  await refused(['--as', 'reader', '--as-group', 'devs'], new RegExp(`groups "devs" ${cannot} "groups"`));
  await refused([...AS_READER, '--as-group', 'system:masters'], /the group "system:masters" is reserved/);
  await refused(['--as', 'system:admin'], /the user name "system:admin" is reserved/);
}

async function oneself(t: Test, dave: Kubectl) {
  const mayI = async (...words: string[]) =>
    (await dave.run(['auth', 'can-i', ...words, ...AS_READER])).stdout.trim();
  t.equal(await mayI('list', 'pods'), 'yes');
  t.equal(await mayI('delete', 'pods'), 'no');
  t.equal(await mayI('impersonate', 'users'), 'no', 'only the caller has this right');
  if (dave.minor < FIRST_WITH_WHOAMI) return;
  const who = await succeeds(t, dave, ['auth', 'whoami', ...AS_READER, '--as-uid', 'u-7']);
  t.match(who, /^Username +acme:reader$/m);
  t.match(who, /^UID +u-7$/m);
  t.match(who, /^Groups +\[readers .*system:authenticated\]$/m);
  t.match(who, /^Extra: stonegate\.dev\/original-user +\[\{"username":"acme:dave".*\}\]$/m);
  t.match(await succeeds(t, dave, 'auth whoami --as acme:zoë'), /^Username +acme:zoë$/m);
}

t.test(
  'C009 C040 an extra that the caller and Stonegate may set is forwarded, and no extra of the caller’s own',
  async (t) => {
    const { stonegate, newcomer, next } = await start(t);
    const arrived = next(({ url, user }) => url.includes('/pods') && user?.username === 'acme:reader');
    const headers = {
      'Impersonate-User': 'reader',
      'Impersonate-Group': 'readers',
      'Impersonate-Extra-Example.com%2FReason': ['audit', 'drill'],
    };
    const reply = await stonegate.ask(newcomer('dave'), '/api/v1/namespaces/default/pods', { headers });
    t.equal(reply.status, 200, reply.body);
    const { user } = await arrived;
    t.strictSame(user?.extra['example.com/reason'], ['audit', 'drill']);
    t.match(user?.extra['stonegate.dev/original-user'], [/^\{"username":"acme:dave"/]);
    t.notOk(Object.keys(user?.extra ?? {}).some((key) => key.startsWith('alpha.kubernetes.io')));
  },
);
