/**
 * Users with an unscoped token: their rights follow from the roles they hold on the requested namespace's
 * project.
 */
import t from 'tap';
import { posted } from '../support/https-client.ts';
import type { Target, User } from '../support/keystone/directory.ts';
import { rule } from '../support/policy-rule.ts';
import { startRoleSite as setUp } from '../support/role-site.ts';
import type { Mode } from '../support/testbed.ts';

const IN_WEB = '/api/v1/namespaces/web/configmaps';
const IN_API = '/api/v1/namespaces/api/configmaps';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
function mayIn(namespace: string) {
  const resourceAttributes = { namespace, verb: 'list', resource: 'configmaps' };
  return JSON.stringify({
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { resourceAttributes },
  });
}

for (const mode of ['arktos', 'shared'] satisfies Mode[]) {
  t.test(
    `${mode}: an unscoped token gives rights in the namespace of a project in which its user has a role`,
    async (t) => {
      const { keystone, erin, statusOf } = await setUp(t, { mode });
      const token = keystone.issue(erin);
      t.equal(await statusOf(token, IN_WEB), 200);
      t.equal(await statusOf(token, IN_API), 403, 'and in no other namespace');
    },
  );

  t.test(
    `${mode}: kubectl auth can-i says whether a request in that namespace would be allowed`,
    async (t) => {
      const { keystone, erin, ask } = await setUp(t, { mode });
      const allowed = async (namespace: string) => {
        const reply = await ask(keystone.issue(erin), REVIEWS, posted(mayIn(namespace)));
        return reply.json().status;
      };
      t.match(await allowed('web'), { allowed: true });
      t.match(await allowed('api'), { allowed: false });
    },
  );

  t.test(`${mode}: a role on the domain applies in every namespace of its tenant`, async (t) => {
    const { keystone, directory, web, statusOf } = await setUp(t, { mode });
    const boss = directory.user('acme', 'boss');
    directory.assign(boss, 'admin', { domain: web.domain });
    t.equal(await statusOf(keystone.issue(boss), IN_WEB), 200);
    t.equal(await statusOf(keystone.issue(boss), IN_API), 200);
  });
}

t.test('a scoped token gives rights in its own scope only', async (t) => {
  const { keystone, directory, api, erin, statusOf, listings } = await setUp(t);
  directory.assign(erin, 'reader', { project: api });
  t.equal(await statusOf(keystone.issue(erin, { project: api }), IN_WEB), 403);
  t.equal(listings(), 0, 'no roles are looked up');
});

t.test('delegated tokens never give more rights than were delegated', async (t) => {
  const { keystone, directory, web, api, erin, statusOf, listings } = await setUp(t);
  directory.assign(erin, 'member', { project: api });
  const applicationCredential = directory.applicationCredential(erin, web);
  const scope: Target = { project: web };
  const methods = ['application_credential'];
  const issue = (user: User, options: object) => keystone.issue(user, scope, options);
  t.equal(await statusOf(issue(erin, { methods, applicationCredential }), IN_API), 403);
  const trust = directory.trust(erin, directory.user('acme', 'bot'), web, {
    roles: ['member'],
    impersonation: true,
  });
  t.equal(await statusOf(issue(erin, { trust }), IN_API), 403);
  t.equal(await statusOf(keystone.issue(erin, undefined, { methods: [...methods, 'token'] }), IN_WEB), 401);
  t.equal(listings(), 0);
});

t.test('if roles cannot be looked up, the user gets a 503, never silently fewer rights', async (t) => {
  const { keystone, directory, erin, web, statusOf } = await setUp(t, {
    keystone: { roleAssignments: { cacheTTL: '10m' } },
  });
  const token = keystone.issue(erin);
  t.equal(await statusOf(token, IN_WEB), 200);
  const frank = directory.user('acme', 'frank');
  directory.assign(frank, 'member', { project: web });
  for (const fault of ['error', 'wrong-shape', 'garbage', 'reset', 'front-end-404'] as const) {
    keystone.fault = fault;
    t.equal(await statusOf(token, IN_WEB), 200, `cached roles are still used (${fault})`);
    t.equal(await statusOf(keystone.issue(frank), IN_WEB), 503, fault);
  }
  keystone.fault = undefined;
  t.equal(await statusOf(keystone.issue(frank), IN_WEB), 200);
});

t.test(
  'if the service user lacks reader on the system, users get a 503, and the log names the missing role',
  async (t) => {
    const { keystone, directory, erin, statusOf, logged } = await setUp(t);
    directory.unassign(directory.user('Default', 'bridge'), 'reader', { system: true });
    t.equal(await statusOf(keystone.issue(erin), IN_WEB), 503);
    t.ok(logged.some((line) => line.includes('needs the role reader on the system')));
  },
);

t.test('explain shows which roles were looked up, and on what', async (t) => {
  const { keystone, erin, web, ask, apiServer } = await setUp(t, { mode: 'shared' });
  const rules = [rule('create', 'explanations', 'stonegate.dev')];
  apiServer.seed.clusterRole('explain', rules);
  apiServer.seed.clusterRoleBinding('explain', 'explain', ['user:acme:erin']);
  const token = keystone.issue(erin);
  const explained = await ask(
    token,
    '/apis/stonegate.dev/v1alpha1/explanations',
    posted({
      kind: 'Explanation',
      apiVersion: 'stonegate.dev/v1alpha1',
      spec: { request: { method: 'GET', path: IN_WEB }, token },
    }),
  );
  t.match(explained.json().status, {
    identity: { scope: { kind: 'project', id: web.id, name: 'web', roles: ['member'] } },
    stages: [{}, {}, { name: 'resolveTenant', reason: new RegExp(`looked up: project ${web.id}: member`) }],
  });
});

t.test('an impersonated request does not have the looked-up roles, in self reviews either', async (t) => {
  const { keystone, erin, apiServer, ask } = await setUp(t);
  const rules = [rule('impersonate', 'users')];
  apiServer.seed.clusterRole('act-as', rules, { tenant: 'acme' });
  apiServer.seed.clusterRoleBinding('act-as', 'act-as', ['user:acme:erin'], { tenant: 'acme' });
  const headers = { 'content-type': 'application/json', 'impersonate-user': 'gina' };
  const token = keystone.issue(erin);
  const asked = await ask(token, REVIEWS, { method: 'POST', headers, body: mayIn('web') });
  t.match(asked.json().status, { allowed: false });
  t.equal((await ask(token, IN_WEB, { headers: { 'impersonate-user': 'gina' } })).status, 403);
});
