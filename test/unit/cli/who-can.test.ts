/**
 * The command line of `stonegate who-can`: what it requests, what it prints, and which mistakes it names.
 */
import t, { type Test } from 'tap';
import { whoCan } from '../../../src/cli/who-can.ts';
import { askCommand } from '../../support/ask-command.ts';
import { DISCOVERY } from '../../support/core-discovery.ts';
import type { RecordedResponse } from '../../support/recorded-server.ts';
import { eachRow } from '../../support/rows.ts';

const V1 = '/apis/stonegate.dev/v1alpha1';
const STATUS = {
  namespace: 'web',
  users: [],
  groups: [],
  serviceAccounts: [],
  grants: [],
  otherTenants: 0,
  evaluationError: '',
  incomplete: false,
  revision: '7',
  warnings: [],
};

const reviewOf = (status: object) => (path: string) => {
  const kind = path === CLUSTER ? 'ResourceAccessReview' : 'LocalResourceAccessReview';
  const head = { kind, apiVersion: 'stonegate.dev/v1alpha1', metadata: {} };
  return { status: 201, body: { ...head, spec: {}, status: { ...STATUS, ...status } } };
};

async function run(
  t: Test,
  words: string,
  response: RecordedResponse | ReturnType<typeof reviewOf> = reviewOf({}),
) {
  const result = await askCommand(t, whoCan, words.split(' ').filter(Boolean), ({ path }) => {
    if (path.startsWith(V1)) return typeof response === 'function' ? response(path) : response;
    return DISCOVERY[path] && { body: DISCOVERY[path] };
  });
  return { ...result, review: result.asked.find(({ method }) => method === 'POST') };
}

const LOCAL = (namespace: string) => `${V1}/namespaces/${namespace}/localresourceaccessreviews`;
const CLUSTER = `${V1}/resourceaccessreviews`;
const SECRETS = { verb: 'delete', apiGroup: '', resource: 'secrets', subresource: '', name: '' };

const LINES = [
  ['delete secrets -n web', LOCAL('web'), SECRETS],
  ['delete secret/tls -n web', LOCAL('web'), { ...SECRETS, name: 'tls' }],
  ['get po --subresource log -A', CLUSTER, { ...SECRETS, verb: 'get', resource: 'pods', subresource: 'log' }],
  [
    'patch deploy -n web',
    LOCAL('web'),
    { ...SECRETS, verb: 'patch', apiGroup: 'apps', resource: 'deployments' },
  ],
  ['get nodes', CLUSTER, { ...SECRETS, verb: 'get', resource: 'nodes' }],
  ['get /healthz', CLUSTER, { verb: 'get', path: '/healthz' }],
  ['delete secrets -n web --people', LOCAL('web'), { ...SECRETS, people: true }],
  ['delete secrets -n a/../b', LOCAL('a%2F..%2Fb'), SECRETS],
] as const;
for (const [line, path, spec] of LINES)
  t.test(`who-can ${line}`, async (t) => {
    const { code, stderr, review } = await run(t, line);
    t.equal(code, 0, stderr);
    const kind = path === CLUSTER ? 'ResourceAccessReview' : 'LocalResourceAccessReview';
    t.strictSame(review?.body, { kind, apiVersion: 'stonegate.dev/v1alpha1', spec });
    t.match(review, { method: 'POST', path, authorization: 'Bearer the-token' });
  });

await eachRow(
  `
  | who can do what? For example:
  delete secrets -n web -A | either -n or -A, not both
  get /healthz -n web | a path is in no namespace`,
  (line, message) =>
    t.test(`who-can ${line} is a usage error, reported before any request is sent`, async (t) => {
      const { code, stdout, stderr, asked } = await run(t, line);
      t.same([code, stdout, asked.length], [2, '', 0]);
      t.match(stderr, message);
      t.match(stderr, 'See: stonegate who-can --help');
    }),
);

const binding = { kind: 'RoleBinding', namespace: 'web', name: 'team' };
const role = { kind: 'ClusterRole', namespace: '', name: 'edit' };
const inWeb = { by: 'binding', everywhere: false, namespace: 'web', binding, role };
const GRANTS = [
  {
    subject: { kind: 'Group', namespace: '', name: 'system:masters' },
    by: 'builtIn',
    everywhere: true,
    namespace: '',
  },
  {
    subject: {
      kind: 'Group',
      namespace: '',
      name: 'keystone:project:p1',
      displayName: 'any role on project web',
      people: ['ann@acme', 'bob@acme'],
    },
    ...inWeb,
  },
  { subject: { kind: 'User', namespace: '', name: 'a\u001b[31m\nb' }, ...inWeb },
];

t.test('the table has a row for each grant, and one for each user who holds the role', async (t) => {
  const { stdout, stderr } = await run(t, 'delete secrets -n web --people', reviewOf({ grants: GRANTS }));
  t.equal(stderr, '');
  t.equal(
    stdout,
    `KIND   NAME                                           WHERE          THROUGH
Group  system:masters                                 everywhere     built in: the API server does not ask RBAC
Group  any role on project web (keystone:project:p1)  namespace web  RoleBinding team → ClusterRole edit
         ann@acme
         bob@acme
User   a\ufffd[31m\ufffdb                                       namespace web  RoleBinding team → ClusterRole edit
`,
  );
});

t.test('warnings are on standard error, and the exit code is 0', async (t) => {
  const status = {
    otherTenants: 2,
    evaluationError: 'role.rbac.authorization.k8s.io "gone" not found',
    incomplete: true,
    incompleteReason: 'no news of roles for 6 minutes',
    warnings: ['Keystone cannot be asked'],
  };
  const { code, stdout, stderr } = await run(t, 'delete gadgets -n web', reviewOf(status));
  t.equal(code, 0);
  t.match(stdout, /^KIND +NAME +WHERE +THROUGH\n$/);
  t.same(stderr.split('\n'), [
    'stonegate who-can: no resource is known as "gadgets": it is asked about as written; did you mean widgets?',
    'stonegate who-can: Keystone cannot be asked',
    'stonegate who-can: subjects of other tenants that can do it too: 2',
    'stonegate who-can: the list may be incomplete: role.rbac.authorization.k8s.io "gone" not found',
    'stonegate who-can: the list may be incomplete: no news of roles for 6 minutes',
    '',
  ]);
});

t.test('-o json prints the whole review, and a response that is not a review is refused', async (t) => {
  const response = reviewOf({ grants: GRANTS });
  const { stdout } = await run(t, 'delete secrets -o json', response);
  t.strictSame(JSON.parse(stdout), response(LOCAL('default')).body);
  t.match(await run(t, 'delete secrets', { body: { kind: 'Pod', apiVersion: 'v1' } }), {
    code: 1,
    stdout: '',
    stderr: /is no Stonegate\n$/,
  });
});

t.test('likely mistakes are reported, and correct input is not', async (t) => {
  await eachRow(
    `
    delte pods | no verb is known as "delte": it is asked about as written; did you mean delete?
    get podz | no resource is known as "podz": it is asked about as written; did you mean pods?`,
    async (line, note) => t.match(await run(t, line), { code: 0, stderr: `stonegate who-can: ${note}\n` }),
  );
  for (const line of ['impersonate users/alice', 'get * -n web'])
    t.equal((await run(t, line)).stderr, '', line);
});
