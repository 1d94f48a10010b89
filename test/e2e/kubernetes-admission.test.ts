/**
 * A real kube-apiserver that asks the admission webhook, registered as `stonegate manifests admission` prints
 * it: what tenants cannot create, change and delete, and what happens while no instance responds.
 */
import t, { type Test } from 'tap';
import { startAdmissionWebhook } from '../support/admission-webhook.ts';
import { eventually } from '../support/eventually.ts';
import { startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';
import { bind, RBAC } from '../support/kubernetes/rbac.ts';
import { registerAdmission, writesOf } from '../support/kubernetes/registered-admission.ts';

const PODS = '/api/v1/namespaces/acme/pods';
const QUOTAS = '/api/v1/namespaces/acme/resourcequotas';
const BINDINGS = `${RBAC}/namespaces/acme/rolebindings`;
const JSON_BODY = { 'content-type': 'application/json' };
const OWN = `stonegate-${'a'.repeat(40)}`;
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };

async function start(t: Test) {
  const kubernetes = await startKubernetes(t, { controllers: true });
  const webhook = await startAdmissionWebhook(t, 'shared', {
    podSecurity: { level: 'baseline', version: 'v1.33', tenants: { globex: { mode: 'warn' } } },
  });
  const alice = await kubernetes.user('acme:alice', ['stonegate:tenant:acme']);
  await bind(kubernetes, {
    name: 'tenants',
    role: 'cluster-admin',
    subjects: ['group:stonegate:tenant:acme', 'group:stonegate:tenant:globex'],
  });
  const labels = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': 'p1' };
  await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'acme', labels } });
  await kubernetes.create(BINDINGS, { metadata: { name: OWN, labels }, roleRef });
  const writes = writesOf(kubernetes);
  await registerAdmission(kubernetes, webhook);
  await eventually(
    async () => (await writes.post(alice, `${PODS}?dryRun=All`, pod({ nodeName: 'n1' }))).status === 403,
  );
  return { kubernetes, webhook /** A user of the tenant acme with every right. */, alice, ...writes };
}

function pod(spec: object, metadata: object = {}) {
  return { metadata: { name: 'p', ...metadata }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } };
}

t.test('a tenant’s requests', { skip: missingKubernetes() }, async (t) => {
  const site = await start(t);
  const { kubernetes, webhook, alice, post, patch, remove } = site;
  const refused = (message: RegExp) => ({ code: 403, reason: 'Forbidden', message });

  await t.test('D236 a pod that chooses a node is refused, with the reason and the field', async (t) => {
    const { body } = await post(alice, PODS, pod({ nodeSelector: { pool: 'gold' } }));
    t.match(JSON.parse(body), {
      code: 403,
      reason: 'Forbidden',
      message:
        /^admission webhook "objects\.admission\.stonegate\.dev" denied the request: spec\.nodeSelector\[pool\]: tenants may not select nodes by the label "pool"$/,
      details: { causes: [{ field: 'spec.nodeSelector[pool]' }] },
    });
    const job = {
      metadata: { name: 'j' },
      spec: { template: pod({ nodeName: 'n1', restartPolicy: 'Never' }) },
    };
    t.match(
      (await post(alice, '/apis/batch/v1/namespaces/acme/jobs', job)).json(),
      refused(/template\.spec\.nodeName/),
    );
    t.equal((await post(alice, PODS, pod({ nodeSelector: { 'kubernetes.io/os': 'linux' } }))).status, 201);
    t.match(
      (
        await post(alice, `${PODS}/p/binding`, {
          metadata: { name: 'p' },
          target: { kind: 'Node', name: 'n1' },
        })
      ).json(),
      refused(/target: tenants may not bind pods to nodes/),
    );
  });

  await t.test(
    'a pod that violates the tenant’s Pod Security level is refused, or warned about in mode warn',
    async (t) => {
      t.match((await post(alice, PODS, pod({ hostNetwork: true }))).json(), {
        code: 403,
        message: /spec\.hostNetwork: violates PodSecurity "baseline:v1\.33": host namespaces$/,
      });
      const gina = await kubernetes.user('globex:gina', ['stonegate:tenant:globex']);
      const reply = await post(gina, PODS, pod({ hostNetwork: true }, { name: 'warned' }));
      t.equal(reply.status, 201);
      t.match(reply.headers.warning, /would violate PodSecurity .*baseline:v1\.33.*: host namespaces/);
    },
  );

  await t.test('only what an update changes is checked, including ephemeral containers', async (t) => {
    await kubernetes.create(PODS, pod({ hostNetwork: true, nodeName: 'n1' }, { name: 'old' }));
    t.equal((await patch(alice, `${PODS}/old`, { metadata: { labels: { a: 'b' } } })).status, 200);
    const debug = { name: 'd', image: 'i', securityContext: { privileged: true } };
    const body = JSON.stringify({ spec: { ephemeralContainers: [debug] } });
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    const path = `${PODS}/old/ephemeralcontainers`;
    t.match(
      (await kubernetes.ask(alice, path, { method: 'PATCH', headers, body })).json(),
      refused(/spec\.ephemeralContainers\[0\]\.securityContext\.privileged/),
    );
  });

  await t.test('kinds of the system, and definitions of scope Cluster, are refused', async (t) => {
    const template = pod({}, { labels: { a: 'b' } });
    const set = { metadata: { name: 's' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const sets = '/apis/apps/v1/namespaces/acme/daemonsets';
    t.match((await post(alice, sets, set)).json(), refused(/kind: daemonsets\.apps are only for the system/));
    t.equal((await post(kubernetes.admin, sets, set)).status, 201);
    t.match((await post(alice, '/api/v1/nodes', { metadata: { name: 'n' } })).json(), refused(/kind: nodes/));
    const names = { kind: 'Gadget', plural: 'gadgets', singular: 'gadget' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const definition = (scope: string) => ({
      metadata: { name: 'gadgets.example.com' },
      spec: { group: 'example.com', names, scope, versions },
    });
    t.match(
      (await post(alice, definitions, definition('Cluster'))).json(),
      refused(/spec\.scope: custom resources/),
    );
    t.equal((await post(alice, definitions, definition('Namespaced'))).status, 201);
  });

  await t.test(
    'D234 D235 Stonegate’s labels of a namespace cannot be changed through any subresource',
    async (t) => {
      const labels = (value: string | null) => ({
        metadata: { labels: { 'stonegate.dev/project-id': value } },
      });
      for (const way of ['', '/status'])
        for (const value of ['p2', null])
          t.match(
            (await patch(alice, `/api/v1/namespaces/acme${way}`, labels(value))).json(),
            refused(/metadata\.labels\[stonegate\.dev\/project-id\]: tenants may not set or remove labels/),
            `${way} ${value}`,
          );
      const { body } = await kubernetes.ask(kubernetes.admin, '/api/v1/namespaces/acme');
      const stored: { metadata: object } = JSON.parse(body);
      const freed = { ...stored, metadata: { ...stored.metadata, labels: {} } };
      const put = { method: 'PUT', headers: JSON_BODY, body: JSON.stringify(freed) };
      t.match(
        (await kubernetes.ask(alice, '/api/v1/namespaces/acme/finalize', put)).json(),
        refused(/metadata\.labels/),
      );
      const other = { metadata: { labels: { team: 'a' } } };
      t.equal((await patch(alice, '/api/v1/namespaces/acme', other)).status, 200);
      for (const way of ['', '/status'])
        t.match(
          (await patch(alice, `/api/v1/namespaces/kube-system${way}`, other)).json(),
          refused(/of the system/),
        );
    },
  );

  await t.test('Stonegate’s bindings cannot be changed or deleted', async (t) => {
    const subjects = [{ kind: 'User', name: 'acme:eve', apiGroup: 'rbac.authorization.k8s.io' }];
    t.match(
      (await patch(alice, `${BINDINGS}/${OWN}`, { subjects })).json(),
      refused(/subjects: .* managed by Stonegate/),
    );
    for (const path of [`${BINDINGS}/${OWN}`, BINDINGS])
      t.match((await remove(alice, path)).json(), refused(/managed by Stonegate/));
    t.equal((await post(alice, BINDINGS, { metadata: { name: 'mine' }, roleRef, subjects })).status, 201);
    t.equal((await remove(alice, `${BINDINGS}/mine`)).status, 200);
  });

  await t.test('D223 the quota of a project cannot be changed or deleted', async (t) => {
    const labels = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/project-id': 'p1' };
    const hard = (pods: string) => ({ spec: { hard: { pods } } });
    await kubernetes.create(QUOTAS, { metadata: { name: 'stonegate-project', labels }, ...hard('50') });
    const quota = `${QUOTAS}/stonegate-project`;
    t.match((await patch(alice, quota, hard('99'))).json(), refused(/spec: .* managed by Stonegate/));
    const freed = { metadata: { labels: { 'stonegate.dev/managed-by': null } } };
    for (const way of ['', '/status'])
      t.match((await patch(alice, `${quota}${way}`, freed)).json(), refused(/metadata\.labels/), way);
    t.match((await remove(alice, quota)).json(), refused(/managed by Stonegate/));
    t.equal((await post(alice, QUOTAS, { metadata: { name: 'mine' }, ...hard('40') })).status, 201);
  });

  await t.test('a service account in the tenant’s namespace counts as the tenant’s', async (t) => {
    const worker = await kubernetes.user('system:serviceaccount:acme:worker', ['system:serviceaccounts']);
    await bind(kubernetes, { name: 'worker', role: 'cluster-admin', subjects: ['account:acme:worker'] });
    await eventually(async () => (await kubernetes.ask(worker, PODS)).status === 200);
    t.match((await post(worker, PODS, pod({ nodeName: 'n1' }))).json(), refused(/spec\.nodeName/));
  });

  await t.test('the namespace and garbage collection controllers can delete everything', async (t) => {
    await kubernetes.admit('DELETE', '/api/v1/namespaces/acme?gracePeriodSeconds=0');
    // No kubelet ends the pods.
    for (const name of ['p', 'old', 'warned'])
      await kubernetes.ask(kubernetes.admin, `${PODS}/${name}?gracePeriodSeconds=0`, { method: 'DELETE' });
    await eventually(
      async () => (await kubernetes.ask(kubernetes.admin, '/api/v1/namespaces/acme')).status === 404,
    );
    t.pass('including Stonegate’s binding');
  });

  t.notMatch(webhook.logged.join('\n'), /openAPIV3Schema|"image"/, 'the log contains no object');
});

t.test('while no instance responds', { skip: missingKubernetes() }, async (t) => {
  const { kubernetes, webhook, alice, post, patch } = await start(t);
  await webhook.stop();
  t.match((await post(alice, PODS, pod({}))).json(), { code: 500, message: /failed calling webhook/ });

  await t.test('the cluster’s own components are not affected', async (t) => {
    const controller = await kubernetes.user('system:serviceaccount:kube-system:replicaset-controller', [
      'system:masters',
    ]);
    const kubelet = await kubernetes.user('system:node:n1', ['system:nodes', 'system:masters']);
    t.equal((await post(controller, PODS, pod({}, { name: 'started' }))).status, 201);
    t.equal((await post(kubelet, '/api/v1/nodes', { metadata: { name: 'n1' } })).status, 201);
    t.equal((await patch(kubelet, '/api/v1/nodes/n1/status', { status: {} })).status, 200);
    await kubernetes.create('/api/v1/namespaces/kube-system/pods', pod({}));
    await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'stonegate' } });
    t.pass('pods of the system, and of the webhook');
  });

  await t.test('a cold start recovers without help', async (t) => {
    await kubernetes.restart();
    t.equal((await post(alice, PODS, pod({}))).status, 500);
    await webhook.start();
    await eventually(async () => (await post(alice, PODS, pod({}, { name: 'after' }))).status === 201);
    t.match((await post(alice, PODS, pod({ nodeName: 'n1' }))).json(), { code: 403 });
  });
});
