/**
 * Requests by which Arktos lets a tenant's user learn or grant rights beyond the tenant: sent to the API
 * server directly, and refused through Stonegate.
 */
import { request } from 'node:https';
import t, { type Test } from 'tap';
import type { JsonObject } from '../support/apiserver/json.ts';
import { rule } from '../support/policy-rule.ts';
import { encodeObject, type Message } from '../support/protobuf.ts';
import { type Ask, type RunningStonegate, startStonegate } from '../support/stonegate.ts';

const RBAC = 'rbac.authorization.k8s.io';
const ACME = { tenant: 'acme' };
const JSON_TYPE = { 'content-type': 'application/json' };
const REVIEW_RESOURCES = ['subjectaccessreviews', 'localsubjectaccessreviews'];

async function start(t: Test) {
  const stonegate = await startStonegate(t, {
    mode: 'arktos',
    configuration: { authentication: { tokenReview: {} } },
  });
  const { seed } = stonegate.apiServer;
  const names = ['rolebindings', 'clusterrolebindings', 'roles', 'clusterroles'];
  seed.clusterRole(
    'manager',
    [
      { apiGroups: [RBAC], resources: names, verbs: ['get', 'create', 'update', 'patch', 'delete'] },
      { apiGroups: ['authorization.k8s.io'], resources: REVIEW_RESOURCES, verbs: ['create'] },
    ],
    ACME,
  );
  seed.clusterRoleBinding('manager', 'manager', ['user:acme:mia'], ACME);
  // The system tenant's role grants nothing, that of the tenant everything.
  seed.clusterRole('view', []);
  seed.clusterRole('view', [rule('*', '*', '*')], ACME);
  return stonegate;
}

/** A token of mia, who may only write bindings and reviews. */
function tokenOf({ keystone }: RunningStonegate) {
  const { directory } = keystone;
  const [mia, project] = [directory.user('acme', 'mia'), directory.project('acme', 'web')];
  directory.assign(mia, 'member', { project });
  return keystone.issue(mia, { project });
}

function binding(name: string, roleRef: JsonObject, version = 'v1') {
  return {
    kind: 'RoleBinding',
    apiVersion: `${RBAC}/${version}`,
    metadata: { name },
    // With mia as the subject, she could do everything from then on.
    subjects: [{ kind: 'User', apiGroup: RBAC, name: 'acme:mallory' }],
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', ...roleRef },
  };
}

const PROTOBUF_TYPE = { 'content-type': 'application/vnd.kubernetes.protobuf' };
const post = (body: unknown, headers: Ask['headers'] = JSON_TYPE) => ({
  method: 'POST',
  headers,
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});

const patch = (type: string, body: unknown) => ({
  ...post(body, { 'content-type': `application/${type}` }),
  method: 'PATCH',
});
const put = (body: unknown) => ({ ...post(body), method: 'PUT' });

/** The API server's response to Stonegate's own credential, impersonating mia. */
function direct({ apiServer, authority }: RunningStonegate, path: string, { method, body }: Ask) {
  return new Promise<number>((resolve, reject) => {
    const headers = {
      ...JSON_TYPE,
      authorization: 'Bearer stonegate-own-token',
      'impersonate-user': 'acme:mia',
      'impersonate-group': 'system:authenticated',
    };
    const sent = request(`${apiServer.url}${path}`, { method, headers, ca: authority.cert }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

t.test('bindings of a tenant’s user', async (t) => {
  const stonegate = await start(t);
  const { ask, apiServer } = stonegate;
  const token = tokenOf(stonegate);
  const place = `/apis/${RBAC}/v1/namespaces/default/rolebindings`;
  const full = place.replace('/v1/', '/v1/tenants/acme/');
  const stored = () =>
    apiServer.cluster.store
      .list({ group: RBAC, resource: 'rolebindings', tenant: 'acme' })
      .map(({ location }) => location.name);

  await t.test(
    'Arktos lets them grant a strong role because the system tenant has a weak one of the same name',
    async (t) => {
      t.equal(await direct(stonegate, full, post(binding('hole', { name: 'view' }))), 201);
      t.ok(stored().includes('hole'));
    },
  );

  await t.test('Stonegate forwards no form of such a request', async (t) => {
    const before = stored();
    const yaml = `kind: RoleBinding\nmetadata: {name: y}\nroleRef: {kind: ClusterRole, name: view}\n`;
    const json = JSON.stringify(binding('j', { name: 'view' }));
    const roleRef: Message = [
      [1, RBAC],
      [2, 'ClusterRole'],
      [3, 'view'],
    ];
    const protobuf = encodeObject(`${RBAC}/v1`, 'RoleBinding', [
      [1, [[1, 'p']]],
      [3, roleRef],
    ]);
    for (const [path, options, status] of [
      [place, post(json), 403],
      [full, post(json), 403],
      [`${place}?dryRun=All`, post(json), 403],
      ...['v1beta1', 'v1alpha1'].map(
        (version) => [place.replace('/v1/', `/${version}/`), post(json), 403] as const,
      ),
      [`/apis/${RBAC}/v1/clusterrolebindings`, post(json), 403],
      [`${place}/new`, put(binding('new', { name: 'view' })), 403],
      [place, post(yaml, { 'content-type': 'application/yaml' }), 403],
      [place, post(protobuf, PROTOBUF_TYPE), 403],
      [place, post(json, PROTOBUF_TYPE), 400],
      [place, post(json, { 'content-encoding': 'gzip' }), 415],
      [place, post(json.replace('"roleRef":', '"roleRef":{"name":"x"},"roleRef":')), 400],
      [place, post(json.replace('"roleRef":', '"RoleRef":')), 400],
      [place, post('{'), 400],
    ] as const)
      t.equal((await ask(token, path, options)).status, status, `${options.method} ${path} ${options.body}`);
    t.strictSame(stored(), before);
  });

  await t.test('Stonegate forwards no patch that adds a subject', async (t) => {
    const subjects = [{ kind: 'User', apiGroup: RBAC, name: 'acme:mallory' }];
    apiServer.seed.roleBinding('admins', 'view', ['user:acme:root'], ACME);
    for (const [type, body] of [
      ['merge-patch+json', { subjects }],
      ['strategic-merge-patch+json', { subjects }],
      ['json-patch+json', [{ op: 'add', path: '/subjects/-', value: subjects[0] }]],
    ] as const)
      t.equal((await ask(token, `${place}/admins`, patch(type, body))).status, 403, type);
    t.equal((await ask(token, `${place}/admins`, put(binding('admins', { name: 'view' })))).status, 403);
    const apply = patch('apply-patch+yaml', 'subjects: []');
    t.equal((await ask(token, `${place}/admins`, apply)).status, 415);
  });

  await t.test('with the right to bind a role they can create, change and delete its bindings', async (t) => {
    apiServer.seed.clusterRole(
      'binder',
      [{ apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: ['given'], verbs: ['bind'] }],
      ACME,
    );
    apiServer.seed.clusterRoleBinding('binder', 'binder', ['user:acme:mia'], ACME);
    apiServer.seed.clusterRole('given', [rule('list', 'pods')], ACME);
    t.equal((await ask(token, place, post(binding('b', { name: 'given' })))).status, 201);
    const yaml = `kind: RoleBinding\nmetadata: {name: y}\nroleRef: {kind: ClusterRole, name: given}\n`;
    t.equal((await ask(token, place, post(yaml, { 'content-type': 'application/yaml' }))).status, 201);
    for (const [type, body] of [
      ['merge-patch+json', { metadata: { labels: { a: 'b' } } }],
      ['strategic-merge-patch+json', { subjects: [] }],
      ['json-patch+json', [{ op: 'add', path: '/metadata/labels/c', value: 'd' }]],
    ] as const) {
      const reply = await ask(token, `${place}/b`, patch(type, body));
      t.match(reply, { status: 200 }, type);
      t.match(reply.json().roleRef, { kind: 'ClusterRole', name: 'given' });
    }
    t.equal((await ask(token, `${place}/b`, put(binding('b', { name: 'given' })))).status, 200);
    t.equal((await ask(token, `${place}/b`, { method: 'DELETE' })).status, 200);
    t.equal((await ask(token, `${place}/b`, patch('merge-patch+json', {}))).status, 404);
  });

  await t.test('a Role with rules that they lack is refused, although Arktos would accept it', async (t) => {
    const rules = [rule('get', 'nodes')];
    apiServer.seed.object(`${RBAC}/v1/roles`, 'team', { rules }, ACME);
    apiServer.seed.object(`${RBAC}/v1/roles`, 'team', { rules: [] });
    const body = binding('r', { kind: 'Role', name: 'team' });
    t.equal((await ask(token, place, post(body))).status, 403);
    t.equal(await direct(stonegate, full, post(body)), 201);
  });

  await t.test('a service account of the tenant is refused in the same way', async (t) => {
    const account = apiServer.seed.serviceAccountToken({
      tenant: 'acme',
      namespace: 'default',
      name: 'robot',
    });
    apiServer.seed.object(
      `${RBAC}/v1/clusterrolebindings`,
      'robot',
      {
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'robot' }],
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'manager' },
      },
      ACME,
    );
    const reply = await ask(account, place, post(binding('sa', { name: 'view' })));
    t.match(reply, { status: 403, body: /may not bind the ClusterRole/ });
  });
});

t.test('access reviews of a tenant’s user', async (t) => {
  const stonegate = await start(t);
  const { ask } = stonegate;
  const token = tokenOf(stonegate);
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const listPods = { verb: 'list', resource: 'pods', namespace: 'default' };
  const review = (user: string, attributes: JsonObject = {}) => ({
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { user, resourceAttributes: { ...listPods, ...attributes } },
  });
  const attack = review('globex:bob', { tenant: 'globex' });

  await t.test('Arktos answers reviews about users of other tenants', async (t) => {
    const full = path.replace('/v1/', '/v1/tenants/acme/');
    t.equal(await direct(stonegate, full, post(attack)), 201);
  });

  await t.test('Stonegate forwards no such review', async (t) => {
    const local = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
    for (const [where, body] of [
      [path, attack],
      [path.replace('/v1/', '/v1beta1/'), attack],
      [path.replace('/v1/', '/v1/tenants/acme/'), attack],
      [`${path}?dryRun=All`, attack],
      [local, { ...attack, kind: 'LocalSubjectAccessReview' }],
      [path, review('globex:bob')],
      [path, review('acme:alice', { tenant: 'globex' })],
      [path, review('system:stonegate:dora', { tenant: 'system' })],
    ] as const)
      t.match(await ask(token, where, post(body)), { status: 403, body: /AccessDenied/ }, where);
    const doubled = JSON.stringify(review('acme:alice')).replace('"user":', '"user":"globex:bob","user":');
    t.equal((await ask(token, path, post(doubled))).status, 400);
    t.equal((await ask(token, path, post(attack, { 'content-type': 'text/plain' }))).status, 415);
  });

  await t.test('a review of a user of their own tenant is answered, with the tenant added', async (t) => {
    const reply = await ask(token, path, post(review('acme:alice')));
    t.match(reply.json(), { spec: { resourceAttributes: { tenant: 'acme' } }, status: { allowed: true } });
    t.match((await ask(token, path, post(review('acme:nina')))).json().status, { allowed: false });
  });

  await t.test('a local review keeps its namespace, which Arktos requires', async (t) => {
    const local = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
    const body = { ...review('acme:alice'), kind: 'LocalSubjectAccessReview' };
    const reply = await ask(token, local, post({ ...body, metadata: { namespace: 'default' } }));
    t.match(reply, { status: 201 }, reply.body);
    t.match(reply.json().status, { allowed: true });
    t.match(await ask(token, local, post(body)), { status: 422, body: /must match metadata\.namespace/ });
  });

  await t.test('a self review in another tenant is denied', async (t) => {
    const self = path.replace('/subject', '/selfsubject');
    const body = {
      ...review(''),
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { ...listPods, tenant: 'globex' } },
    };
    t.match((await ask(token, self, post(body))).json().status, { allowed: false, denied: true });
  });
});

t.test('D332 a tenant’s administrator cannot change the labels of their Tenant object', async (t) => {
  const stonegate = await start(t);
  const { store } = stonegate.apiServer.cluster;
  const labelled = { metadata: { name: 'acme', labels: { region: 'eu' } } };
  for (const path of ['/api/v1/tenants/acme', '/api/v1/tenants/acme/status', '/api/v1/tenants/acme/finalize'])
    for (const options of [patch('merge-patch+json', labelled), put(labelled)]) {
      const reply = await stonegate.ask(stonegate.keystoneToken('alice'), path, options);
      t.equal(reply.status, 403, `${options.method} ${path}`);
    }
  const [tenant] = store.list({ resource: 'tenants', name: 'acme' });
  t.match(tenant?.object.metadata, { name: 'acme' });
  t.notMatch(tenant?.object.metadata, { labels: { region: 'eu' } });
});
