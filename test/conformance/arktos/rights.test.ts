/**
 * The stand-in handles rights as a real Arktos does: which tenant's role a binding is checked against, whose
 * rights an access review reports, and where role bindings of the system tenant apply. The first tests replay
 * recorded exchanges; the others follow what was observed on the same server.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { type ApiServer, createApiServer } from '../../support/apiserver/api-server.ts';
import { isObject, type JsonObject } from '../../support/apiserver/json.ts';
import { rule } from '../../support/policy-rule.ts';
import { ask } from './wire.ts';

const RBAC = 'rbac.authorization.k8s.io';
const ROLES = rule('*', 'roles,rolebindings,clusterroles', RBAC);

async function startServer(t: Test): Promise<ApiServer> {
  const server = await createApiServer({
    flavour: 'arktos',
    tokens: { proxy: { username: 'stonegate' }, dora: { username: 'dora' } },
  });
  t.teardown(() => server.close());
  const { seed } = server;
  seed.clusterRole('impersonator', [rule('impersonate', 'users,groups')]);
  seed.clusterRoleBinding('impersonator', 'impersonator', ['user:stonegate']);
  for (const tenant of ['acme', 'globex']) seed.tenant(tenant);
  const acme = { tenant: 'acme' };
  seed.pod('p1', { ...acme, running: false, labels: { team: 'x' } });
  // dora may write roles, but has none of the rights that she would put into them.
  seed.clusterRole('rbac', [{ ...ROLES, verbs: ['get', 'list', 'create', 'update', 'delete'] }]);
  seed.clusterRoleBinding('dora', 'rbac', ['user:dora']);
  seed.clusterRole('pods', [rule('get,list,create', 'pods')]);
  seed.roleBinding('ns', 'pods', ['group:grp:ns']);
  seed.clusterRole(
    'asker',
    [rule('create', 'subjectaccessreviews,localsubjectaccessreviews', 'authorization.k8s.io')],
    acme,
  );
  seed.clusterRoleBinding('asker', 'asker', ['user:acme:asker'], acme);
  const reader = [rule('get,list', 'pods')];
  seed.clusterRole('reader', reader, acme);
  seed.roleBinding('guests', 'reader', ['group:stonegate:policy:x'], acme);
  seed.clusterRoleBinding('ops', 'pods', ['group:grp:ops']);
  seed.pod('p1', { tenant: 'globex', running: false });
  seed.clusterRole('tadmin', [rule('*', '*', '*')], { tenant: 'globex' });
  seed.clusterRoleBinding('tadmin', 'tadmin', ['user:globex:gina'], { tenant: 'globex' });
  return server;
}

interface Recording {
  readonly request: { method: string; path: string; headers: [string, string][]; body: JsonObject | null };
  readonly response: { status: number; body: JsonObject };
}

for (const file of readdirSync(new URL('recorded-rights/', import.meta.url)))
  t.test(file.replace('.json', ''), async (t) => {
    const server = await startServer(t);
    const recording: Recording = JSON.parse(
      readFileSync(new URL(`recorded-rights/${file}`, import.meta.url), 'utf8'),
    );
    const { request, response } = recording;
    const headers = request.headers.map(
      ([name, value]) => [name, value.replace(/^Bearer <(.*)>$/, 'Bearer $1')] as const,
    );
    const answer = await ask(server.url, { ...request, headers, body: request.body ?? undefined });
    t.equal(answer.status, response.status);
    t.match(JSON.parse(answer.body), comparable(response.body));
  });

/** The names of a list's items, or the whole body if it is not a list. */
function comparable(body: JsonObject): JsonObject {
  if (!Array.isArray(body.items)) return body;
  const items = body.items
    .filter(isObject)
    .map(({ metadata }) => ({ metadata: { name: isObject(metadata) ? metadata.name : null } }));
  return { kind: body.kind, items };
}

/** Sends a request as an impersonated user (`tenant:name`), or with the token of that name. */
async function send(server: ApiServer, who: string, path: string, body?: JsonObject) {
  const headers: [string, string][] = who.includes(':')
    ? [
        ['Authorization', 'Bearer proxy'],
        ['Impersonate-User', who],
        ['Impersonate-Group', 'system:authenticated'],
      ]
    : [['Authorization', `Bearer ${who}`]];
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await ask(server.url, { method, path, headers, body });
  const json: unknown = JSON.parse(answer.body);
  return { status: answer.status, json: isObject(json) ? json : {} };
}

function binding(kind: 'ClusterRole' | 'Role', name: string): JsonObject {
  return {
    kind: 'RoleBinding',
    apiVersion: `${RBAC}/v1`,
    metadata: { name: 'b' },
    subjects: [{ kind: 'User', apiGroup: RBAC, name: 'acme:mia' }],
    roleRef: { apiGroup: RBAC, kind, name },
  };
}

const BINDINGS = `/apis/${RBAC}/v1/tenants/acme/namespaces/default/rolebindings`;
const acme = { tenant: 'acme' };

t.test('if a user has no bind on a role, the role is looked up in the system tenant', async (t) => {
  const server = await startServer(t);
  server.seed.clusterRole('stonegate:edit', [], acme);
  t.match(await send(server, 'dora', BINDINGS, binding('ClusterRole', 'stonegate:edit')), {
    status: 404,
    json: {
      message: 'clusterroles.rbac.authorization.k8s.io "stonegate:edit" not found',
      reason: 'NotFound',
    },
  });
  server.seed.clusterRole('binder', [
    { apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: ['stonegate:edit'], verbs: ['bind'] },
  ]);
  server.seed.clusterRoleBinding('binder', 'binder', ['user:dora']);
  t.match(await send(server, 'dora', BINDINGS, binding('ClusterRole', 'stonegate:edit')), { status: 201 });
});

t.test(
  'a user of a tenant cannot bind a Role of their namespace, but can bind a role of the system tenant',
  async (t) => {
    const server = await startServer(t);
    server.seed.clusterRole('manager', [{ ...ROLES, verbs: ['get', 'create'] }], acme);
    server.seed.clusterRoleBinding('manager', 'manager', ['user:acme:mia'], acme);
    server.seed.object(`${RBAC}/v1/roles`, 'own', { rules: [] }, acme);
    t.match(await send(server, 'acme:mia', BINDINGS, binding('Role', 'own')), { status: 404 });
    server.seed.clusterRole('view', []);
    t.match(await send(server, 'acme:mia', BINDINGS, binding('ClusterRole', 'view')), { status: 201 });
  },
);

t.test(
  'a binding is checked against the weak role of the system tenant, but gives the tenant’s strong one',
  async (t) => {
    const server = await startServer(t);
    server.seed.clusterRole('manager', [{ ...ROLES, verbs: ['get', 'create'] }], acme);
    server.seed.clusterRoleBinding('manager', 'manager', ['user:acme:mia'], acme);
    server.seed.clusterRole('view', []);
    server.seed.clusterRole('view', [rule('list', 'pods')], acme);
    const pods = '/api/v1/tenants/acme/namespaces/default/pods';
    t.match(await send(server, 'acme:mia', pods), { status: 403 });
    await send(server, 'acme:mia', BINDINGS, binding('ClusterRole', 'view'));
    t.match(await send(server, 'acme:mia', pods), { status: 200 });
  },
);

t.test('a review is denied if it names no tenant, or another tenant than the user’s', async (t) => {
  const server = await startServer(t);
  const ask = (path: string, attributes: JsonObject, user = 'acme:asker') =>
    send(server, 'acme:asker', `/apis/authorization.k8s.io/v1/tenants/acme/${path}`, {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { user, resourceAttributes: { verb: 'list', resource: 'pods', ...attributes } },
    });
  const denied = { json: { status: { allowed: false, denied: true } } };
  t.match(await ask('subjectaccessreviews', {}), denied);
  t.match(await ask('subjectaccessreviews', { tenant: 'globex' }), denied);
  t.match(
    await ask('subjectaccessreviews', { tenant: 'globex' }, 'carl'),
    denied,
    'a username without a tenant',
  );
  t.match(await ask('subjectaccessreviews', { tenant: 'globex' }, 'globex:gina'), {
    json: { status: { allowed: true } },
  });
});

t.test('a local review also answers about another tenant', async (t) => {
  const server = await startServer(t);
  const path = '/apis/authorization.k8s.io/v1/tenants/acme/namespaces/default/localsubjectaccessreviews';
  const attributes = { tenant: 'globex', namespace: 'default', verb: 'list', resource: 'pods' };
  const review = {
    kind: 'LocalSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: { namespace: 'default' },
    spec: { user: 'globex:gina', resourceAttributes: attributes },
  };
  t.match(await send(server, 'acme:asker', path, review), {
    status: 201,
    json: { status: { allowed: true } },
  });
});

t.test(
  'a role binding in a namespace of the system tenant applies in every tenant’s namespace of that name',
  async (t) => {
    const server = await startServer(t);
    server.seed.roleBinding('u', 'pods', ['user:system:stonegate:dan']);
    for (const [path, status] of [
      ['tenants/acme/namespaces/default/pods', 200],
      ['tenants/globex/namespaces/default/pods', 200],
      ['tenants/acme/namespaces/kube-system/pods', 403],
      ['tenants/acme/pods', 403],
    ] as const)
      t.match(await send(server, 'system:stonegate:dan', `/api/v1/${path}`), { status }, path);
  },
);
