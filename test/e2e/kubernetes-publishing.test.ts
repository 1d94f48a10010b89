/**
 * Publishing objects into tenants' namespaces at a real kube-apiserver, which fills in defaults and checks
 * rights. Stonegate has the rights that `stonegate manifests rbac --provisioner` prints.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { publish } from '../../src/app/commands/publish.ts';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import { eventually } from '../support/eventually.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { apply, serviceAccountToken, startKubernetesSite } from '../support/kubernetes/site.ts';
import { printedManifests } from '../support/manifests.ts';
import { rule } from '../support/policy-rule.ts';
import { printedBy } from '../support/printed-io.ts';

const PUBLISHED = 'multi-tenancy.k8s.io/published';
const RBAC = 'rbac.authorization.k8s.io';
const ACCOUNT = 'stonegate-provisioner';
const [binary] = findKubectls().slice(-1);

async function start(t: Test) {
  const site = await startKubernetesSite(t, { controllers: true });
  const { kubernetes, stonegate } = site;
  const { configFile } = stonegate;
  await stonegate.configure(
    parse(`
    upstream:
      server: ${kubernetes.url}
      caFile: kubernetes.crt
      credential: {tokenFile: kubernetes-token}
    bindings: {credential: {tokenFile: provisioner-token}}
    publishing: {namespaces: [shared], kinds: [batch/v1/cronjobs], interval: 1h}`),
  );
  for (const object of await printedManifests('rbac', '--config', configFile, '--provisioner'))
    await apply(kubernetes, object);
  const folder = dirname(configFile);
  await writeFile(
    join(folder, 'provisioner-token'),
    await serviceAccountToken(kubernetes, 'stonegate', ACCOUNT),
  );
  const namespace = (name: string, domain?: string) => {
    const own = { 'managed-by': 'stonegate', 'project-id': `p-${name}`, 'domain-id': domain ?? '' };
    const labels =
      domain === undefined
        ? {}
        : Object.fromEntries(Object.entries(own).map(([key, value]) => [`stonegate.dev/${key}`, value]));
    return kubernetes.create('/api/v1/namespaces', { metadata: { name, labels } });
  };
  await namespace('shared');
  await namespace('web', 'd-acme');
  await namespace('lab', 'd-globex');
  await stonegate.app.reload();
  const admin = createKubectl(t, binary ?? '', {
    ...kubernetes.admin,
    server: kubernetes.url,
    ca: kubernetes.authority.cert,
  });
  return {
    ...site,
    namespace,
    async get(path: string) {
      const reply = await kubernetes.ask(kubernetes.admin, path);
      return reply.status === 200 ? JSON.parse(reply.body) : undefined;
    },
    async kubectl(...words: readonly string[]) {
      const { code, stdout, stderr } = await admin.run(words);
      if (code !== 0) throw new Error(stderr);
      return stdout;
    },
    publish: (...words: readonly string[]) => printedBy(publish, ['--config', configFile, ...words]),
  };
}

const pod = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } };
const OBJECTS = {
  '/api/v1/namespaces/shared/configmaps': { data: { a: 'b' } },
  '/api/v1/namespaces/shared/secrets': { stringData: { password: 'secret' } },
  '/api/v1/namespaces/shared/serviceaccounts': { imagePullSecrets: [{ name: 'x' }] },
  '/api/v1/namespaces/shared/limitranges': {
    spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] },
  },
  '/api/v1/namespaces/shared/resourcequotas': { spec: { hard: { pods: '10', 'requests.memory': '1024Mi' } } },
  '/apis/networking.k8s.io/v1/namespaces/shared/networkpolicies': {
    spec: { podSelector: {}, ingress: [{ ports: [{ port: 53 }] }] },
  },
  [`/apis/${RBAC}/v1/namespaces/shared/roles`]: {
    rules: [rule('get', 'configmaps')],
  },
  [`/apis/${RBAC}/v1/namespaces/shared/rolebindings`]: {
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'common' },
    subjects: [
      { apiGroup: RBAC, kind: 'Group', name: 'stonegate:tenant:acme' },
      { kind: 'ServiceAccount', name: 'common', namespace: 'shared' },
    ],
  },
  '/apis/batch/v1/namespaces/shared/cronjobs': {
    spec: { schedule: '@daily', jobTemplate: { spec: pod } },
  },
};

t.test(
  'publishing at a kube-apiserver',
  { skip: missingControllers() || (binary === undefined && NO_KUBECTL) },
  async (t) => {
    const { kubernetes, stonegate, namespace, get, publish, kubectl } = await start(t);
    const annotations = { [PUBLISHED]: 'all' };
    for (const [path, body] of Object.entries(OBJECTS))
      await kubernetes.create(path, {
        metadata: { name: 'common', annotations, labels: { app: 'x' } },
        ...body,
      });
    const copies = (namespace: string) =>
      Promise.all(Object.keys(OBJECTS).map((path) => get(`${path.replace('shared', namespace)}/common`)));

    await t.test('every kind is copied soon, and another run finds nothing to do', async (t) => {
      await eventually(async () =>
        [...(await copies('web')), ...(await copies('lab'))].every((one) => one !== undefined),
      );
      t.match(await publish(), {
        code: 0,
        stdout: /^0 done, 0 failed, 18 as they should be, 0 refused/,
      });
      const [binding] = [await get(`/apis/${RBAC}/v1/namespaces/web/rolebindings/common`)];
      t.match(binding.subjects[1], { kind: 'ServiceAccount', namespace: 'web' });
    });

    await t.test('kubectl shows where a copy comes from', async (t) => {
      const shown = await kubectl('get', 'secret', 'common', '-n', 'web', '-o', 'yaml');
      t.match(shown, /stonegate\.dev\/published-source: secrets\/shared\/common/);
      t.notMatch(shown, /multi-tenancy\.k8s\.io/);
      t.match(
        await kubectl('get', 'configmaps', '-A', '-l', 'stonegate.dev/published-from'),
        /^web +common /m,
      );
    });

    await t.test('D240 a new namespace of a tenant gets its copies soon', async (t) => {
      await namespace('later', 'd-acme');
      await eventually(async () => (await copies('later')).every((one) => one !== undefined));
      await kubectl('delete', 'namespace', 'later', '--wait=true');
      t.equal((await publish()).code, 0);
    });

    await t.test(
      'D239 edited and deleted copies are restored, and objects that are not copies are left alone',
      async (t) => {
        await kubectl('patch', 'configmap', 'common', '-n', 'web', '-p', '{"data":{"a":"c"}}');
        await kubectl('label', 'secret', 'common', '-n', 'web', 'mine=true');
        await kubectl('delete', 'serviceaccount', 'common', '-n', 'web');
        await kubectl('create', 'configmap', 'own', '-n', 'web', '--from-literal=a=own');
        await kubectl('create', 'configmap', 'own', '-n', 'shared', '--from-literal=a=published');
        await kubectl('annotate', 'configmap', 'own', '-n', 'shared', `${PUBLISHED}=d-acme`);
        t.match(await publish(), {
          code: 0,
          stderr: /refused: ConfigMap own in web: .* not overwritten/,
        });
        t.match(await get('/api/v1/namespaces/web/configmaps/common'), { data: { a: 'b' } });
        t.match(await get('/api/v1/namespaces/web/configmaps/own'), { data: { a: 'own' } });
        t.equal((await get('/api/v1/namespaces/web/secrets/common')).metadata.labels.mine, undefined);
        await kubectl('annotate', 'configmap', 'own', '-n', 'shared', `${PUBLISHED}-policy=SystemFirst`);
        await eventually(
          async () => (await get('/api/v1/namespaces/web/configmaps/own')).data.a === 'published',
        );
      },
    );

    await t.test('an immutable copy is replaced', async () => {
      await kubectl('patch', 'configmap', 'common', '-n', 'shared', '-p', '{"immutable":true}');
      await eventually(
        async () => (await get('/api/v1/namespaces/lab/configmaps/common')).immutable === true,
      );
      await kubectl('delete', 'configmap', 'common', '-n', 'shared');
      await kubernetes.create('/api/v1/namespaces/shared/configmaps', {
        metadata: { name: 'common', annotations },
        data: { a: 'new' },
      });
      await eventually(async () => (await get('/api/v1/namespaces/lab/configmaps/common'))?.data.a === 'new');
    });

    await t.test(
      'roles and bindings with more rights than the provisioner has are not published',
      async (t) => {
        const roles = `/apis/${RBAC}/v1/namespaces/shared/roles`;
        const rules = [rule('delete', 'nodes')];
        await kubernetes.create(roles, { metadata: { name: 'strong', annotations }, rules });
        const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'cluster-admin' };
        const subjects = [{ apiGroup: RBAC, kind: 'User', name: 'mallory' }];
        await kubernetes.create(`/apis/${RBAC}/v1/namespaces/shared/rolebindings`, {
          metadata: { name: 'strong', annotations },
          roleRef,
          subjects,
        });
        const { stderr } = await publish();
        t.match(stderr, /refused: roles\S+shared\/strong: rules\[0\]: delete nodes is not among/);
        t.match(stderr, /refused: rolebindings\S+shared\/strong: .*not cluster-admin/);
        t.equal(await get(`/apis/${RBAC}/v1/namespaces/web/roles/strong`), undefined);
      },
    );

    await t.test('publishing continues after a restart of the API server', async () => {
      await kubernetes.restart();
      await kubectl('create', 'configmap', 'after', '-n', 'shared', '--from-literal=a=b');
      await kubectl('annotate', 'configmap', 'after', '-n', 'shared', `${PUBLISHED}=all`);
      await eventually(async () => (await get('/api/v1/namespaces/web/configmaps/after')) !== undefined);
    });

    await t.test('when the section is removed, the copies are deleted, and nothing else', async (t) => {
      await stonegate.configure({
        upstream: {
          server: kubernetes.url,
          caFile: 'kubernetes.crt',
          credential: { tokenFile: 'kubernetes-token' },
        },
        bindings: { credential: { tokenFile: 'provisioner-token' } },
      });
      await stonegate.app.reload();
      await eventually(async () => (await get('/api/v1/namespaces/web/secrets/common')) === undefined);
      t.ok(await get('/api/v1/namespaces/shared/secrets/common'));
    });
  },
);
