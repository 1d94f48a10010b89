/**
 * Quotas of tenants at a real kube-apiserver with its controller manager.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { missingControllers } from '../support/kubernetes/programs.ts';
import { MERGE_PATCH, QUOTAS, startQuotaSite } from '../support/kubernetes/quota-site.ts';
import type { RunningStonegate } from '../support/stonegate.ts';

const pod = (name: string, cpu = '100m', labels = {}) => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] },
});
const deployment = (name: string, replicas: number) => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: pod(name).spec },
  },
});
const podsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
const deploymentsIn = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;

/** How often a request was refused since a ResourceQuota of its namespace would refuse it. */
async function attempts({ app }: RunningStonegate) {
  const [, count = '0'] =
    /^stonegate_quota_reviews_total\{result="namespace"\} (\d+)/m.exec(await app.metrics.text()) ?? [];
  return Number(count);
}

t.test('a tenant with two namespaces', { skip: missingControllers() }, async (t) => {
  const site = await startQuotaSite(t, {
    controllers: true,
    quota: { default: { pods: '10' }, count: ['v1/configmaps'] },
  });
  const { namespace, uses, limit, send, quota, kubernetes, stonegate } = site;
  await namespace('web', 'acme');
  await namespace('lab', 'acme');
  const create = async (path: string, object: object) => {
    const reply = await send('POST', path, object);
    const { message = '' }: { message?: string } = JSON.parse(reply.body);
    return { status: reply.status, message, headers: reply.headers };
  };
  const clear = async () => {
    for (const at of ['web', 'lab']) await send('DELETE', `${podsIn(at)}?gracePeriodSeconds=0`);
    await eventually(async () => (await quota('acme'))?.status?.used?.pods === '0');
  };

  await t.test('gets the default quota, and its usage is counted', async (t) => {
    await uses('acme', { pods: '0' });
    t.match(await quota('acme'), { spec: { hard: { pods: '10' } } });
  });

  await t.test(
    'D201 D207 of 20 concurrent creates exactly the 10 that fit succeed, without a conflict',
    async (t) => {
      await limit('acme', { pods: '10' });
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, at) => create(podsIn(at % 2 ? 'web' : 'lab'), pod(`many-${at}`))),
      );
      t.same(replies.map(({ status }) => status).sort(), [...Array(10).fill(201), ...Array(10).fill(403)]);
      await uses('acme', { pods: '10' });
      t.match(await quota('acme'), { status: { summary: 'pods: 10/10' } });
      await clear();
    },
  );

  await t.test(
    'D202 a Deployment scales to the limit, reports why it stops, and continues when the limit is raised',
    async (t) => {
      await limit('acme', { pods: '4' });
      await Promise.all([
        send('POST', deploymentsIn('web'), deployment('one', 3)),
        send('POST', deploymentsIn('lab'), deployment('two', 3)),
      ]);
      await uses('acme', { pods: '4' });
      const conditions = async () => {
        const read = async (path: string) => JSON.parse((await kubernetes.admit('GET', path)).body);
        const both = [await read(`${deploymentsIn('web')}/one`), await read(`${deploymentsIn('lab')}/two`)];
        return JSON.stringify(both.map(({ status }) => status.conditions));
      };
      await eventually(async () => /"ReplicaFailure".*exceeded quota: acme/s.test(await conditions()));
      t.match(await conditions(), /exceeded quota: acme, requested: pods=1, .*limited: pods=4/);
      await limit('acme', { pods: '6' });
      await uses('acme', { pods: '6' });
      await send('DELETE', `${deploymentsIn('web')}/one`);
      await send('DELETE', `${deploymentsIn('lab')}/two`);
      await clear();
    },
  );

  await t.test(
    'a namespace at its ResourceQuota whose Deployment wants more takes no room from its neighbour',
    async (t) => {
      await limit('acme', { pods: '10' });
      const quotas = '/api/v1/namespaces/web/resourcequotas';
      await send('POST', quotas, { metadata: { name: 'three' }, spec: { hard: { pods: '3' } } });
      const three = async () => JSON.parse((await kubernetes.admit('GET', `${quotas}/three`)).body);
      await eventually(async () => (await three()).status?.used?.pods === '0');
      await send('POST', deploymentsIn('web'), deployment('many', 20));
      const isRefused = async () => {
        const { status } = JSON.parse((await kubernetes.admit('GET', `${deploymentsIn('web')}/many`)).body);
        return /"ReplicaFailure".*exceeded quota: three/s.test(JSON.stringify(status.conditions));
      };
      await eventually(async () => (await three()).status.used.pods === '3' && (await isRefused()));
      // What the controller asked for before it had three pods may stay reserved until its time is over.
      await eventually(async () => (await quota('acme'))?.status?.ledger === '');
      const before = await attempts(stonegate);
      await eventually(async () => (await attempts(stonegate)) > before);
      t.equal((await quota('acme'))?.status?.ledger, '', 'a further attempt reserves nothing');
      for (let at = 0; at < 7; at += 1)
        t.equal((await create(podsIn('lab'), pod(`neighbour-${at}`))).status, 201);
      t.equal((await create(podsIn('lab'), pod('one-too-many'))).status, 403);
      await send('DELETE', `${deploymentsIn('web')}/many`);
      await send('DELETE', `${quotas}/three`);
      await clear();
    },
  );

  await t.test('pods that end before they are counted take no room', async (t) => {
    await limit('acme', { pods: '4' });
    for (let at = 0; at < 12; at += 1) {
      await eventually(async () => (await create(podsIn('web'), pod(`fails-${at}`))).status === 201);
      const status = { status: { phase: 'Failed', reason: 'OutOfcpu' } };
      await send('PATCH', `${podsIn('web')}/fails-${at}/status`, status, MERGE_PATCH);
    }
    await eventually(async () => (await quota('acme'))?.status?.ledger === '');
    for (let at = 0; at < 4; at += 1) t.equal((await create(podsIn('lab'), pod(`runs-${at}`))).status, 201);
    await clear();
  });

  await t.test('D225 only what a resize adds is counted', async (t) => {
    await limit('acme', { 'requests.cpu': '2' });
    await create(podsIn('web'), pod('grows', '1'));
    const resize = (cpu: string) => {
      const patch = { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } };
      const type = 'application/strategic-merge-patch+json';
      return send('PATCH', `${podsIn('web')}/grows/resize`, patch, type);
    };
    t.match(JSON.parse((await resize('3')).body), {
      code: 403,
      message: /exceeded quota: acme, requested: requests\.cpu=2, .*limited: requests\.cpu=2/,
    });
    t.equal((await resize('2')).status, 200);
    await limit('acme', { pods: '10' });
    await clear();
  });

  await t.test('D210 a dry run gets the decision of a real request, and reserves nothing', async (t) => {
    await limit('acme', { pods: '1' });
    const dryRun = `${podsIn('web')}?dryRun=All`;
    t.equal((await create(dryRun, pod('dry'))).status, 201);
    t.equal((await create(dryRun, pod('dry'))).status, 201);
    t.equal((await quota('acme'))?.status?.ledger ?? '', '');
    t.equal((await create(podsIn('web'), pod('wet'))).status, 201);
    t.equal((await create(dryRun, pod('dry'))).status, 403);
    await clear();
  });

  await t.test(
    'a pod that does not state a limited request is refused in Kubernetes’ own words',
    async (t) => {
      await limit('acme', { pods: '10', 'requests.memory': '1Gi' });
      t.match(await create(podsIn('web'), pod('p')), {
        status: 403,
        message: /failed quota: acme: must specify requests\.memory for: c$/,
      });
    },
  );

  await t.test('other kinds, and the namespaces themselves, count too', async (t) => {
    await limit('acme', {
      services: '1',
      'count/configmaps': '3',
      namespaces: '2',
      'requests.storage': '1Gi',
    });
    const service = (name: string) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });
    t.equal((await create('/api/v1/namespaces/web/services', service('one'))).status, 201);
    t.match(await create('/api/v1/namespaces/lab/services', service('two')), {
      status: 403,
      message: /requested: services=1/,
    });
    // Each of the two namespaces already has a ConfigMap with the root certificate of the cluster.
    const map = (name: string) => ({ metadata: { name } });
    t.equal((await create('/api/v1/namespaces/web/configmaps', map('one'))).status, 201);
    t.match(await create('/api/v1/namespaces/web/configmaps', map('two')), {
      status: 403,
      message: /requested: count\/configmaps=1/,
    });
    const claim = {
      metadata: { name: 'big' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
    };
    t.match(await create('/api/v1/namespaces/web/persistentvolumeclaims', claim), {
      status: 403,
      message: /requested: requests\.storage=2Gi/,
    });
    await t.rejects(namespace('third', 'acme'), /requested: namespaces=1, used: namespaces=2/);
  });

  await t.test('D218 deleting a namespace frees all of its usage', async () => {
    await limit('acme', { pods: '10' });
    await create(podsIn('lab'), pod('ends'));
    await uses('acme', { pods: '1' });
    await send('DELETE', '/api/v1/namespaces/lab');
    await uses('acme', { pods: '0' });
  });

  await t.test('D214 a negative quantity is refused with the field’s path', async (t) => {
    const patch = (hard: object) => send('PATCH', `${QUOTAS}/acme`, { spec: { hard } }, MERGE_PATCH);
    t.match(JSON.parse((await patch({ pods: '-1' })).body), { message: /spec\.hard\.pods/ });
  });

  await t.test('a namespace of no tenant is not limited', async (t) => {
    await kubernetes.create('/api/v1/namespaces', { metadata: { name: 'free' } });
    t.equal((await create(podsIn('free'), pod('p'))).status, 201);
    t.equal(await quota('free'), undefined);
  });
});

t.test(
  'a quota in mode warn admits a pod beyond it with a warning',
  { skip: missingControllers() },
  async (t) => {
    const { namespace, uses, send, stonegate } = await startQuotaSite(t, {
      usage: { records: 'usage.log' },
      quota: { default: { pods: '1' }, mode: 'warn' },
    });
    await namespace('web', 'acme');
    await uses('acme', { pods: '0' });
    t.equal((await send('POST', podsIn('web'), pod('a'))).headers.warning, undefined);
    await uses('acme', { pods: '1' });
    const { status, headers } = await send('POST', podsIn('web'), pod('b'));
    t.equal(status, 201);
    t.match(headers.warning, /exceeded quota: acme, requested: pods=1, used: pods=1, limited: pods=1/);
    await uses('acme', { pods: '2' });

    await t.test('usage records contain what pods request', async (t) => {
      await stonegate.close();
      const lines = (await readFile(join(dirname(stonegate.configFile), 'usage.log'), 'utf8'))
        .trim()
        .split('\n');
      const records = lines.map((line): { project?: string; usage?: Record<string, number> } =>
        JSON.parse(line),
      );
      const usage = records.filter(({ project }) => project === 'id-of-web').map(({ usage = {} }) => usage);
      const sum = (name: string) => usage.reduce((total, { [name]: amount = 0 }) => total + amount, 0);
      t.ok(sum('podSeconds') > 0);
      const difference = Math.abs(sum('requestedCpuSeconds') - sum('podSeconds') / 10);
      t.ok(difference <= 0.001 * usage.length, 'each pod requests 100m; a record is rounded to milliseconds');
    });
  },
);

t.test('two replicas share a quota', { skip: missingControllers() }, async (t) => {
  const site = await startQuotaSite(t, { quota: { default: { pods: '10' } }, replicas: 2 });
  const { namespace, uses, send } = site;
  await namespace('web', 'acme');
  await uses('acme', { pods: '0' });
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      send('POST', podsIn('web'), pod(`p-${at}`, '1', { replica: String(at % 2) })),
    ),
  );
  const statuses = replies.map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 201).length, 10, statuses.join());
  t.notOk(statuses.includes(409));
  await uses('acme', { pods: '10' });
});
