/**
 * The usage of objects is counted as Kubernetes' own ResourceQuota counts it, for hundreds of random pods,
 * services and claims: one by one as its admission does, and in total as its controller does.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { parseQuantity } from '../../../src/kubernetes/quantity.ts';
import { isQuotaName, objectUsage } from '../../../src/kubernetes/resource-quota/object-usage.ts';
import { missingRequests } from '../../../src/kubernetes/resource-quota/pod-usage.ts';
import { exceeding, sum, type Usage } from '../../../src/kubernetes/resource-quota/usage.ts';
import { type JsonObject, objectAt, objectsAt, textAt } from '../../support/apiserver/json.ts';
import { eventually } from '../../support/eventually.ts';
import { type Kubernetes, startKubernetes } from '../../support/kubernetes/api-server.ts';
import { missingControllers, missingKubernetes, NEWEST, OLDEST } from '../../support/kubernetes/programs.ts';
import {
  RUNTIME_CLASS,
  randomClaim,
  randomPod,
  randomService,
} from '../../support/kubernetes/random-resources.ts';

const SEED = Number(process.env.SEED ?? 20_261_126);
const GOLD = 'gold.storageclass.storage.k8s.io';
const OTHER_NAMES = [
  ...['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage', 'pods', 'count/pods'],
  ...['hugepages-2Mi', 'requests.hugepages-2Mi', 'requests.example.com/gpu', 'requests.a.example/b'],
  ...['services', 'services.loadbalancers', 'services.nodeports', 'count/services', 'configmaps'],
  ...['count/configmaps', 'resourcequotas', 'persistentvolumeclaims', 'count/persistentvolumeclaims'],
  ...['requests.storage', `${GOLD}/requests.storage`, `${GOLD}/persistentvolumeclaims`],
];
const NAMES = [
  ...['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'],
  ...OTHER_NAMES,
];
const RESOURCES = ['pods', 'services', 'persistentvolumeclaims', 'configmaps', 'resourcequotas'];

const usageOf = (resource: string, object: unknown) => objectUsage({ group: '', resource }, object);

const at = (namespace: string, resource: string) => `/api/v1/namespaces/${namespace}/${resource}`;

async function start(t: Test, options: Parameters<typeof startKubernetes>[1]) {
  t.comment(`SEED=${SEED}`);
  const kubernetes = await startKubernetes(t, options);
  await kubernetes.create('/apis/node.k8s.io/v1/runtimeclasses', RUNTIME_CLASS);
  return kubernetes;
}

const createNamespace = (kubernetes: Kubernetes, name: string) =>
  kubernetes.create('/api/v1/namespaces', { metadata: { name } });

function quotaOf(names: readonly string[], amount: string) {
  return { metadata: { name: 'q' }, spec: { hard: Object.fromEntries(names.map((name) => [name, amount])) } };
}

/** Creates a quota of zero and waits until it is enforced. No controller runs that would write its status. */
async function createFullQuota(kubernetes: Kubernetes, namespace: string, names: readonly string[]) {
  const quota = quotaOf(names, '0');
  await kubernetes.create(at(namespace, 'resourcequotas'), quota);
  const status = { hard: quota.spec.hard, used: quota.spec.hard };
  await kubernetes.admit('PUT', `${at(namespace, 'resourcequotas')}/q/status`, { ...quota, status });
  const path = `${at(namespace, 'configmaps')}?dryRun=All`;
  await eventually(async () => {
    const { message } = await send(kubernetes, 'POST', path, { metadata: { name: 'a' } });
    return message.includes('exceeded quota');
  });
}

async function send(kubernetes: Kubernetes, method: 'POST' | 'PATCH', path: string, object: object) {
  const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const request = { method, headers: { 'content-type': type }, body: JSON.stringify(object) };
  const reply = await kubernetes.ask(kubernetes.admin, path, request);
  const body: JsonObject = JSON.parse(reply.body);
  return { status: reply.status, body, message: textAt(body, 'message') };
}

/** Mostly pods; each object with the name of its resource. */
function randomObjects(count: number): (readonly [string, object])[] {
  const sample = (arbitrary: fc.Arbitrary<object>, share: number) =>
    fc.sample(arbitrary, { seed: SEED, numRuns: count * share });
  return [
    ...sample(randomPod, 1).map((pod) => ['pods', pod] as const),
    ...sample(randomService, 0.2).map((service) => ['services', service] as const),
    ...sample(randomClaim, 0.2).map((claim) => ['persistentvolumeclaims', claim] as const),
  ];
}

/** The part of a usage that a quota of zero refuses. */
function refused(usage: Usage, names: readonly string[]) {
  return String([...usage].filter(([name, amount]) => amount > 0n && names.includes(name)).sort());
}

/** What is requested according to the message of a refusal. */
function requestedIn(message: string) {
  const [, requested = ''] = /exceeded quota: q, requested: (.*?), used: /.exec(message) ?? [];
  return String(
    requested.split(',').map((one) => {
      const [name, text] = one.split('=');
      return [name, parseQuantity(text)];
    }),
  );
}

interface Difference {
  readonly message: string;
  readonly expected: string;
  readonly object: string;
}

async function compareCreations(t: Test, kubernetes: Kubernetes, count: number) {
  const namespaces = { strict: NAMES, lenient: OTHER_NAMES };
  await createNamespace(kubernetes, 'free');
  for (const [namespace, names] of Object.entries(namespaces)) {
    await createNamespace(kubernetes, namespace);
    await createFullQuota(kubernetes, namespace, names);
  }
  const differences: Difference[] = [];
  const counts = { valid: 0, exceeding: 0, missing: 0 };
  for (const [resource, given] of randomObjects(count)) {
    const create = (namespace: string) =>
      send(kubernetes, 'POST', `${at(namespace, resource)}?dryRun=All`, given);
    const { status, body } = await create('free');
    if (status !== 201) continue;
    counts.valid += 1;
    for (const [namespace, names] of Object.entries(namespaces)) {
      const { message } = await create(namespace);
      const missing = resource === 'pods' ? missingRequests(body, names) : [];
      const isMissing = missing.length > 0;
      counts[isMissing ? 'missing' : 'exceeding'] += 1;
      const expected = isMissing
        ? `failed quota: q: must specify ${missing.join('; ')}`
        : refused(usageOf(resource, body), names);
      if (isMissing ? !message.endsWith(expected) : requestedIn(message) !== expected)
        differences.push({ message, expected, object: JSON.stringify(body) });
    }
  }
  t.strictSame(differences.slice(0, 3), [], `${differences.length} refusals differ`);
  t.comment(JSON.stringify(counts));
  t.ok(counts.valid > count, 'nearly all objects pass the validation of the API server');
  t.ok(counts.missing > count / 4 && counts.exceeding > count, 'both refusals are frequent');
}

/** A patch with another amount of CPU for the containers that limit it. */
function resized(pod: JsonObject, cpu: string) {
  const containers = objectsAt(objectAt(pod, 'spec'), 'containers').filter(
    (container) => 'cpu' in objectAt(objectAt(container, 'resources'), 'limits'),
  );
  const resources = { requests: { cpu }, limits: { cpu } };
  return { spec: { containers: containers.map(({ name }) => ({ name, resources })) } };
}

async function compareResizes(t: Test, kubernetes: Kubernetes, count: number) {
  await createNamespace(kubernetes, 'resized');
  const resizes: { resize: (parameters?: string) => ReturnType<typeof send>; added: string }[] = [];
  for (const pod of fc.sample(randomPod, { seed: SEED + 1, numRuns: count })) {
    const { status, body } = await send(kubernetes, 'POST', at('resized', 'pods'), pod);
    const path = `${at('resized', 'pods')}/${textAt(objectAt(body, 'metadata'), 'name')}/resize`;
    const change = resized(body, '4');
    const resize = (parameters = '') => send(kubernetes, 'PATCH', `${path}${parameters}`, change);
    if (status !== 201 || missingRequests(body, NAMES).length > 0) continue;
    const after = await resize('?dryRun=All');
    const added = refused(exceeding(usageOf('pods', after.body), usageOf('pods', body)), NAMES);
    if (after.status === 200 && added !== '') resizes.push({ resize, added });
  }
  await createFullQuota(kubernetes, 'resized', NAMES);
  for (const { resize, added } of resizes) {
    const { message } = await resize();
    t.equal(requestedIn(message), added, message);
  }
  t.ok(resizes.length > count / 50, 'many pods are resized');
}

for (const [release, count] of [
  [NEWEST, 300],
  [OLDEST, 100],
] as const) {
  const skip = missingKubernetes(release);
  t.test(`kube-apiserver ${release}`, { skip }, async (t) => {
    const kubernetes = await start(t, { release });
    await t.test('objects use what its admission counts', (t) => compareCreations(t, kubernetes, count));
    await t.test('D225: a resize uses only what it adds', (t) => compareResizes(t, kubernetes, count));
  });
}

async function list(kubernetes: Kubernetes, resource: string): Promise<JsonObject[]> {
  const answer: JsonObject = JSON.parse((await kubernetes.admit('GET', at('team', resource))).body);
  return objectsAt(answer, 'items');
}

function statusesOf(containers: readonly JsonObject[]) {
  return containers.map(({ name }, index) => ({
    ...{ name, image: 'a', imageID: 'a', ready: true, restartCount: 0, state: { running: {} } },
    resources: { requests: { cpu: '700m' }, limits: { cpu: index === 0 ? '2' : '100m', memory: '1Gi' } },
    allocatedResources: { cpu: '1200m', memory: '300Mi' },
  }));
}

const INFEASIBLE = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' };

/** A change that a kubelet or a user makes to a pod: the path below the pod, and the patch. */
function changeOf(pod: JsonObject, index: number) {
  const spec = objectAt(pod, 'spec');
  const held = {
    containerStatuses: statusesOf(objectsAt(spec, 'containers')),
    initContainerStatuses: statusesOf(objectsAt(spec, 'initContainers')),
  };
  return (
    [
      ['/status', { status: { phase: 'Failed' } }],
      ['/status', { status: { phase: 'Succeeded' } }],
      ['/status', { status: { phase: 'Running', ...held } }],
      ['/status', { status: { ...held, conditions: [INFEASIBLE] } }],
      ['/resize', resized(pod, '5')],
    ] as const
  )[index % 6];
}

async function changeObjects(kubernetes: Kubernetes) {
  let changed = 0;
  const patch = async (resource: string, object: JsonObject, [below, change]: readonly [string, object]) => {
    const path = `${at('team', resource)}/${textAt(objectAt(object, 'metadata'), 'name')}`;
    const { status } = await send(kubernetes, 'PATCH', `${path}${below}`, change);
    if (status === 200) changed += 1;
  };
  for (const [index, pod] of (await list(kubernetes, 'pods')).entries()) {
    const change = changeOf(pod, index);
    if (change !== undefined) await patch('pods', pod, change);
  }
  for (const claim of await list(kubernetes, 'persistentvolumeclaims'))
    await patch('persistentvolumeclaims', claim, [
      '/status',
      { status: { allocatedResources: { storage: '1.5Gi' } } },
    ]);
  return changed;
}

t.test(
  'stored objects use in total what the quota controller counts',
  { skip: missingControllers() },
  async (t) => {
    const kubernetes = await start(t, { controllers: true });
    await createNamespace(kubernetes, 'team');
    for (const [resource, object] of randomObjects(200))
      await send(kubernetes, 'POST', at('team', resource), object);
    t.ok((await changeObjects(kubernetes)) > 150, 'many objects change after their creation');
    await kubernetes.create(at('team', 'resourcequotas'), quotaOf(NAMES, '1E'));
    // A controller creates a ConfigMap in every namespace.
    await eventually(async () => (await list(kubernetes, 'configmaps')).length > 0);

    const usages: Usage[] = [];
    for (const resource of RESOURCES)
      for (const object of await list(kubernetes, resource)) usages.push(usageOf(resource, object));
    const total = sum(usages);
    const expected = NAMES.map((name) => `${name}=${total.get(name) ?? 0n}`).sort();
    let counted: string[] = [];
    t.teardown(() => t.comment(`expected ${expected}\ncounted ${counted}`));
    await eventually(async () => {
      const [quota] = await list(kubernetes, 'resourcequotas');
      const used = objectAt(objectAt(quota, 'status'), 'used');
      counted = Object.entries(used).map(([name, amount]) => `${name}=${parseQuantity(amount)}`);
      return String(counted.sort()) === String(expected);
    });
    t.strictSame(
      NAMES.filter((name) => !isQuotaName(name)),
      [],
      'all names are valid in a quota',
    );
  },
);
