/**
 * What the API server adds to an object before it stores it. A pod runs as soon as it is assigned to a node,
 * which depends on an option of the server, since no kubelet runs here.
 */
import { ensureObject, type JsonObject, objectsAt, textAt } from './json.ts';
import type { Kind } from './kinds.ts';

const TOLERATIONS = ['not-ready', 'unreachable'].map((condition) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

/** Fills in `object` in place. */
export function fillIn(kind: Kind, object: JsonObject) {
  const group = kind.storageGroup;
  object.kind = kind.kind;
  object.apiVersion ??= group === '' ? 'v1' : `${group}/${kind.versions[0] ?? 'v1'}`;
  switch (`${group}/${kind.resource}`) {
    case '/namespaces':
      withDefaults(ensureObject(object, 'spec'), { finalizers: ['kubernetes'] });
      withDefaults(ensureObject(object, 'status'), { phase: 'Active' });
      break;
    case '/tenants':
      withDefaults(ensureObject(object, 'spec'), { finalizers: ['arktos'] });
      withDefaults(ensureObject(object, 'status'), { phase: 'Active' });
      break;
    case '/pods':
      fillInPod(object);
      break;
    case '/secrets':
      fillInSecret(object);
      break;
    case 'apps/deployments':
      withDefaults(ensureObject(object, 'spec'), { replicas: 1 });
      ensureObject(object, 'status');
      break;
    case 'apiextensions.k8s.io/customresourcedefinitions':
      fillInDefinition(object);
      break;
  }
}

function withDefaults(target: JsonObject, defaults: JsonObject) {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= structuredClone(value);
}

function fillInPod(pod: JsonObject) {
  const spec = ensureObject(pod, 'spec');
  const containers = objectsAt(spec, 'containers');
  for (const container of containers)
    withDefaults(container, {
      resources: {},
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: /:(?!latest$)[^/]+$/.test(textAt(container, 'image')) ? 'IfNotPresent' : 'Always',
    });
  withDefaults(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    tolerations: TOLERATIONS,
    priority: 0,
    enableServiceLinks: true,
  });
  const status = ensureObject(pod, 'status');
  status.qosClass = 'BestEffort';
  if (textAt(spec, 'nodeName') === '') {
    status.phase = 'Pending';
    return;
  }
  status.phase = 'Running';
  withDefaults(status, {
    hostIP: '127.0.0.1',
    podIP: '127.0.0.1',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
    })),
  });
  status.containerStatuses = containers.map((container) => ({
    name: textAt(container, 'name'),
    image: textAt(container, 'image'),
    imageID: '',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: new Date().toISOString() } },
  }));
}

function fillInSecret(secret: JsonObject) {
  secret.type ??= 'Opaque';
  const plain = ensureObject(secret, 'stringData');
  const data = ensureObject(secret, 'data');
  for (const [key, value] of Object.entries(plain))
    if (typeof value === 'string') data[key] = Buffer.from(value).toString('base64');
  delete secret.stringData;
}

function fillInDefinition(definition: JsonObject) {
  const status = ensureObject(definition, 'status');
  const spec = ensureObject(definition, 'spec');
  const names = ensureObject(spec, 'names');
  status.acceptedNames = structuredClone(names);
  status.storedVersions = [textAt(spec, 'version') || textAt(objectsAt(spec, 'versions')[0], 'name')];
  status.conditions = ['NamesAccepted', 'Established'].map((type) => ({
    type,
    status: 'True',
    reason: 'Ok',
    message: '',
    lastTransitionTime: null,
  }));
}
