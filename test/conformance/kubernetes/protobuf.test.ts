/**
 * Objects in protobuf are read as a real kube-apiserver reads them: it stores the same object from protobuf
 * and from the JSON that Stonegate forwards instead, and returns that JSON for the same object in protobuf.
 */
import fc from 'fast-check';
import t from 'tap';
import { decodeObject } from '../../../src/kubernetes/kubernetes-protobuf.ts';
import { mapWithConcurrency } from '../../../src/lib/concurrency.ts';
import { isJSONObject } from '../../../src/lib/json-object.ts';
import { isObject, type JsonObject, objectAt, objectsAt, textAt } from '../../support/apiserver/json.ts';
import { KUBECTL_REQUESTS } from '../../support/kubectl-protobuf.ts';
import { type Kubernetes, startKubernetes } from '../../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../../support/kubernetes/programs.ts';
import { randomPod } from '../../support/kubernetes/random-pods.ts';

const SEED = Number(process.env.SEED ?? 20_261_123);
const JSON_TYPE = 'application/json';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const CONCURRENT = 8;
const COLLECTIONS = [
  ...['configmaps', 'namespaces', 'pods', 'secrets', 'serviceaccounts', 'services'].map(
    (name) => `/api/v1/${name}`,
  ),
  '/apis/apps/v1/deployments',
  '/apis/autoscaling/v1/horizontalpodautoscalers',
  '/apis/autoscaling/v2/horizontalpodautoscalers',
  '/apis/batch/v1/cronjobs',
  '/apis/batch/v1/jobs',
  '/apis/coordination.k8s.io/v1/leases',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
  '/apis/networking.k8s.io/v1/ingresses',
  '/apis/policy/v1/poddisruptionbudgets',
  ...['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'].map(
    (name) => `/apis/rbac.authorization.k8s.io/v1/${name}`,
  ),
  '/apis/scheduling.k8s.io/v1/priorityclasses',
];
/** Fields that the API server sets in a new object. */
const CHOSEN = /^(?:.*uid|creationTimestamp|time|clusterIPs?|nodePort)$/;

async function post({ ask, admin }: Kubernetes, path: string, type: string, body: Buffer | string) {
  const headers = { 'content-type': type, accept: JSON_TYPE };
  const reply = await ask(admin, path, { method: 'POST', headers, body });
  const object: unknown = JSON.parse(reply.body, (key, value) => (CHOSEN.test(key) ? undefined : value));
  return { status: reply.status, object };
}

t.test('a real kube-apiserver', { skip: missingKubernetes() }, async (t) => {
  const kubernetes = await startKubernetes(t, {
    flags: () => ['--disable-admission-plugins=ServiceAccount'],
  });

  // The rules of a rules review come in no defined order.
  const requests = KUBECTL_REQUESTS.filter(({ path }) => !path.endsWith('selfsubjectrulesreviews'));
  for (const { command, path, body } of requests)
    await t.test(`${command}: JSON and protobuf are stored as the same object`, async (t) => {
      const dryRun = `${path}?dryRun=All`;
      const json = JSON.stringify(decodeObject(body));
      t.strictSame(
        await post(kubernetes, dryRun, JSON_TYPE, json),
        await post(kubernetes, dryRun, PROTOBUF, body),
      );
    });

  const pods = fc.sample(randomPod, { seed: SEED, numRuns: 300 });
  await mapWithConcurrency([...pods.entries()], CONCURRENT, ([at, pod]) => {
    const body = { ...pod, metadata: Object.assign({}, pod.metadata, { name: `pod-${at}` }) };
    return post(kubernetes, '/api/v1/namespaces/default/pods', JSON_TYPE, JSON.stringify(body));
  });
  for (const { path, body } of requests) await post(kubernetes, path, PROTOBUF, body);

  for (const collection of COLLECTIONS)
    await t.test(`${collection}: each object is the same in both forms`, async (t) => {
      const list: unknown = (await kubernetes.admit('GET', collection)).json();
      const items = isObject(list) ? objectsAt(list, 'items') : [];
      t.ok(items.length > 0);
      await mapWithConcurrency(items, CONCURRENT, async (item) => {
        const path = pathOf(collection, item);
        const json: unknown = (await kubernetes.admit('GET', path)).json();
        const headers = { accept: PROTOBUF };
        const { bytes } = await kubernetes.ask(kubernetes.admin, path, { headers });
        t.ok(isJSONObject(json));
        t.strictSame(decodeObject(bytes), json, path);
      });
    });
});

function pathOf(collection: string, item: JsonObject) {
  const metadata = objectAt(item, 'metadata');
  const namespace = textAt(metadata, 'namespace');
  const [, prefix, resource] = /^(.*)\/(\w+)$/.exec(collection) ?? [];
  const place = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `${prefix}${place}/${resource}/${encodeURIComponent(textAt(metadata, 'name'))}`;
}
