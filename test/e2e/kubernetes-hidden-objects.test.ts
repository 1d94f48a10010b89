/**
 * With `authorization.hideForbidden`, a request for an object that the user may not know of gets the response
 * of a real kube-apiserver for a missing object.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { type Ask, patched, posted, type Reply } from '../support/https-client.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { grant } from '../support/kubernetes/rbac.ts';
import { serviceAccountToken, startKubernetesSite } from '../support/kubernetes/site.ts';
import { rule } from '../support/policy-rule.ts';
import { rows } from '../support/rows.ts';

const HIDDEN = '/api/v1/namespaces/vault/configmaps/plan';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/** Starts a site with objects that are hidden from alice, and one that she may read. */
async function start(t: Test) {
  const site = await startKubernetesSite(t, {
    configuration: {
      access: { index: true, authorizers: ['Node', 'RBAC'], verifyOneIn: 1 },
      authorization: { hideForbidden: true },
      authentication: { tokenReview: { tenant: 'robots' } },
    },
  });
  const { kubernetes, stonegate } = site;
  await kubernetes.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'safes.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'safes', singular: 'safe', kind: 'Safe', listKind: 'SafeList' },
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
  });
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'vault' } });
  for (const name of ['plan', 'shown', 'odd.name'])
    await kubernetes.create('/api/v1/namespaces/vault/configmaps', { metadata: { name } });
  const safes = '/apis/example.com/v1/namespaces/vault/safes';
  const safe = { apiVersion: 'example.com/v1', kind: 'Safe', metadata: { name: 'plan' } };
  await eventually(async () => {
    await kubernetes.create(safes, safe);
    return true;
  });
  await kubernetes.create('/api/v1/namespaces/vault/serviceaccounts', { metadata: { name: 'robot' } });
  await grant(kubernetes, {
    name: 'reader',
    namespace: 'vault',
    subjects: ['user:acme:alice'],
    rules: [{ ...rule('get', 'configmaps'), resourceNames: ['shown', 'missing'] }],
  });
  const alice = stonegate.keystoneToken('alice');
  await eventually(async () => (await stonegate.ask(alice, HIDDEN)).status === 404);
  await eventually(async () => (await stonegate.ask(alice, HIDDEN)).status === 404);
  await eventually(
    async () => (await stonegate.ask(alice, '/api/v1/namespaces/vault/configmaps/shown')).status === 200,
  );
  return site;
}

/** The response without what differs between any two responses, or between users' priority levels. */
function comparable({ status, headers, body }: Reply) {
  const {
    date: _date,
    'audit-id': _audit,
    'x-kubernetes-pf-flowschema-uid': _flow,
    'x-kubernetes-pf-prioritylevel-uid': _level,
    connection: _connection,
    'keep-alive': _alive,
    ...others
  } = headers;
  return { status, headers: others, body };
}

/** Paths of an existing and of a missing object, with names of the same length, and the kind of request. */
const OBJECTS = rows(`
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/nowhere/configmaps/nada
/api/v1/namespaces/vault/configmaps/odd.name | /api/v1/namespaces/vault/configmaps/odd.nada
/api/v1/namespaces/vault | /api/v1/namespaces/nowhr
/apis/example.com/v1/namespaces/vault/safes/plan | /apis/example.com/v1/namespaces/vault/safes/nada
/apis/example.com/v1/namespaces/vault/safes/plan/status | /apis/example.com/v1/namespaces/nowhere/safes/nada/status
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada | table
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada | gzip
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada | curl
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada | delete
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/vault/configmaps/nada | patch
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/nowhere/configmaps/nada | delete
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/nowhere/configmaps/nada | patch
/api/v1/namespaces/vault/configmaps/plan | /api/v1/namespaces/nowhere/configmaps/nada | put
/api/v1/namespaces/vault/serviceaccounts/plan | /api/v1/namespaces/nowhere/serviceaccounts/nada | patch
/apis/apps/v1/namespaces/vault/deployments/plan/scale | /apis/apps/v1/namespaces/nowhere/deployments/nada/scale
/apis/apps/v1/namespaces/vault/deployments/plan/scale | /apis/apps/v1/namespaces/nowhere/deployments/nada/scale | patch
/api/v1/namespaces/vault | /api/v1/namespaces/nowhr | delete
/api/v1/namespaces/vault | /api/v1/namespaces/nowhr | patch
/api/v1/namespaces/vault/pods/plan/log | /api/v1/namespaces/nowhere/pods/nada/log`);

const ASKS: Readonly<Record<string, Ask>> = {
  table: { headers: { accept: TABLE } },
  gzip: { headers: { 'accept-encoding': 'gzip' } },
  curl: { headers: { 'user-agent': 'curl/8' } },
  delete: { method: 'DELETE' },
  patch: patched('{}'),
  put: put('ConfigMap', 'v1', 'nowhere'),
};

/** A PUT of the missing object. */
function put(kind: string, apiVersion: string, namespace: string) {
  const object = { kind, apiVersion, metadata: { name: 'nada', namespace } };
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(object) };
}

const skip = missingKubernetes();
t.test('an object that the user may not know of', { skip }, async (t) => {
  const { kubernetes, stonegate } = await start(t);
  const alice = stonegate.keystoneToken('alice');
  const ask = (path: string, options: Ask = {}) => stonegate.ask(alice, path, options);
  const named = (reply: Reply) =>
    JSON.parse(JSON.stringify(comparable(reply)).replace(/odd\.na(?:da|me)|nada|plan|nowhr|vault/g, 'NAME'));

  t.test('gets the same response as a missing one, which is that of the API server', async (t) => {
    for (const [hidden, missing, kind] of OBJECTS) {
      const options = ASKS[kind] ?? {};
      const what = `${kind} ${hidden}`;
      const [mine, absent] = [await ask(hidden, options), await ask(missing, options)];
      t.equal(mine.status, 404, what);
      t.strictSame(named(mine), named(absent), what);
      t.strictSame(
        comparable(absent),
        comparable(await kubernetes.ask(kubernetes.admin, missing, options)),
        what,
      );
    }
  });

  t.test('a PUT that could create the object does not reveal whether the namespace exists', async (t) => {
    const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/nada`;
    const replies = await Promise.all(
      ['vault', 'nowhere'].map((namespace) =>
        ask(leases(namespace), put('Lease', 'coordination.k8s.io/v1', namespace)),
      ),
    );
    for (const { status, body } of replies) {
      t.equal(status, 404);
      t.match(body, 'leases.coordination.k8s.io \\"nada\\" not found');
    }
    const lease = put('Lease', 'coordination.k8s.io/v1', 'nowhere');
    const { body } = await kubernetes.ask(kubernetes.admin, leases('nowhere'), lease);
    t.match(body, 'namespaces \\"nowhere\\" not found', 'the API server tells an administrator');
  });

  t.test('has no body in the response to a HEAD', async (t) => {
    const [mine, absent] = [
      await ask(HIDDEN, { method: 'HEAD' }),
      await ask('/api/v1/namespaces/vault/configmaps/nada', { method: 'HEAD' }),
    ];
    t.equal(mine.status, 404);
    t.strictSame(comparable(mine), comparable(absent));
    t.equal(mine.body, '');
  });

  t.test('is a 403 in the audit log, with the reason', async (t) => {
    const reply = await ask(HIDDEN);
    const event = (await stonegate.audited()).find(
      ({ auditID, stage }) => auditID === reply.headers['audit-id'] && stage === 'ResponseComplete',
    );
    t.match(event, {
      responseStatus: { code: 403, message: /^configmaps "plan" is forbidden: User "acme:alice" cannot get/ },
      annotations: { 'stonegate.dev/shown-as': 'NotFound' },
    });
  });

  t.test('is hidden from a protobuf client too', async (t) => {
    const { status, body } = await ask(HIDDEN, {
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    });
    t.equal(status, 404);
    t.match(body, '"message":"configmaps \\"plan\\" not found"');
  });

  t.test('a request that names no object still gets a 403', async (t) => {
    const configMaps = '/api/v1/namespaces/vault/configmaps';
    const post: Ask = posted('{"metadata":{"name":"x"}}');
    for (const [path, options = {}] of [
      [configMaps],
      [`${configMaps}?watch=1`],
      [`${configMaps}?fieldSelector=metadata.name%3Dplan`],
      [configMaps, post],
      [configMaps, { method: 'DELETE' }],
    ] as const)
      t.equal((await ask(path, options)).status, 403, `${options.method ?? 'GET'} ${path}`);
  });

  t.test('an object that the user may read is a 403 if it exists, and a 404 if it does not', async (t) => {
    const shown = '/api/v1/namespaces/vault/configmaps/shown';
    t.match((await ask(shown, { method: 'DELETE' })).json(), { code: 403, reason: 'Forbidden' });
    t.equal((await ask('/api/v1/namespaces/vault/configmaps/missing')).status, 404);
  });

  t.test('a service account gets a 403', async (t) => {
    const robot = await serviceAccountToken(kubernetes, 'vault', 'robot');
    t.equal((await stonegate.ask(robot, HIDDEN)).status, 403);
  });
});
