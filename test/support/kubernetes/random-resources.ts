/**
 * Random pods, services and claims for quotas: resources in every place and format that the validation of an
 * API server accepts.
 */
import fc, { type Arbitrary } from 'fast-check';

type Fields = Readonly<Record<string, unknown>>;

/** A RuntimeClass whose pods have an overhead. */
export const RUNTIME_CLASS = {
  metadata: { name: 'heavy' },
  handler: 'heavy',
  overhead: { podFixed: { cpu: '250m', memory: '120Mi' } },
};

/** Each list is in ascending order. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  cpu: ['0', '0.0005', '100m', '0.25', '1', '1500m', '2e0', '3'],
  memory: ['64Mi', '100M', '0.1Gi', '128974848', '5e8', '1Gi', '1.5Gi', '2G'],
  'ephemeral-storage': ['1Mi', '10M', '1Gi', '2e9'],
};

interface Amounts {
  readonly requests: Fields;
  readonly limits: Fields;
}

/** A request, a limit, both or neither. */
function amountsOf(resource: string): Arbitrary<Amounts> {
  const texts = TEXTS[resource] ?? [];
  const at = fc.nat(texts.length - 1);
  const given = (text: string | undefined) => (text === undefined ? {} : { [resource]: text });
  return fc
    .tuple(at, at, fc.constantFrom('both', 'both', 'request', 'limit', 'none'))
    .map(([a, b, which]) => ({
      requests: given(which === 'both' || which === 'request' ? texts[Math.min(a, b)] : undefined),
      limits: given(which === 'both' || which === 'limit' ? texts[Math.max(a, b)] : undefined),
    }));
}

/** Requests that equal the limits, for resources whose amounts must be equal. */
const whole = (limits: Fields): Amounts => ({ requests: {}, limits });
const nothing: Amounts = whole({});
const extended = fc.constantFrom(
  ...[
    nothing,
    nothing,
    whole({ 'example.com/gpu': 2 }),
    whole({ 'example.com/gpu': '1', 'a.example/b': '3' }),
  ],
  whole({ 'example.com/gpu': '1', 'a.kubernetes.io/b': '3' }),
);
const hugePages = fc.constantFrom(nothing, nothing, whole({ 'hugepages-2Mi': '4Mi' }));

const resources = fc
  .tuple(...Object.keys(TEXTS).map(amountsOf), extended, hugePages)
  .map((all) => all.filter((one) => !('hugepages-2Mi' in one.limits) || all.some(hasCPU)))
  .map((all) => ({
    requests: Object.assign({}, ...all.map(({ requests }) => requests)),
    limits: Object.assign({}, ...all.map(({ limits }) => limits)),
  }));

/** Huge pages need some CPU or memory. */
function hasCPU({ requests, limits }: Amounts) {
  return 'cpu' in requests || 'cpu' in limits;
}

const containers = (prefix: string, minLength: number, each: Arbitrary<Fields>) =>
  fc
    .array(each, { minLength, maxLength: 3 })
    .map((all) => all.map((one, at) => ({ name: `${prefix}${at}`, image: 'registry.example/a', ...one })));

const ofPod = fc.constantFrom(
  ...[undefined, undefined, undefined, { requests: { cpu: '100', memory: '100Gi' } }],
  { limits: { memory: '200G' } },
  { requests: { cpu: '50' }, limits: { cpu: '60', memory: '200Gi', 'hugepages-2Mi': '1Gi' } },
);

/** An object with a new name, as JSON without undefined fields. */
function objectOf({ metadata, ...object }: { readonly metadata?: Fields; readonly spec: Fields }): object {
  return JSON.parse(JSON.stringify({ metadata: { generateName: 'a-', ...metadata }, ...object }));
}

export const randomPod: Arbitrary<object> = fc
  .record({
    containers: containers('c', 1, fc.record({ resources })),
    initContainers: containers(
      'i',
      0,
      fc.record({ resources, restartPolicy: fc.constantFrom(undefined, 'Always') }),
    ),
    resources: ofPod,
    runtimeClassName: fc.constantFrom(undefined, undefined, RUNTIME_CLASS.metadata.name),
  })
  .map((spec) => objectOf({ spec }));

export const randomService: Arbitrary<object> = fc
  .record({
    kind: fc.constantFrom(...[{ type: 'ClusterIP' }, { type: 'NodePort' }, { type: 'LoadBalancer' }], {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
    }),
    ports: fc.constantFrom(
      [{ port: 80 }],
      [
        { port: 80, name: 'a' },
        { port: 81, name: 'b' },
      ],
    ),
  })
  .map(({ kind, ports }) => objectOf({ spec: { ...kind, ports } }));

/** A claim; its class may be in the older annotation. */
export const randomClaim: Arbitrary<object> = fc
  .record({
    storage: fc.constantFrom('1Gi', '1500m', '2G', '3e9', '0.5Gi'),
    chosen: fc.constantFrom(
      ...[{}, { storageClassName: '' }, { storageClassName: 'gold' }, { storageClassName: 'silver' }],
      { annotations: { 'volume.beta.kubernetes.io/storage-class': 'gold' } },
    ),
  })
  .map(({ storage, chosen: { annotations, storageClassName } }) =>
    objectOf({
      metadata: { annotations },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName },
    }),
  );
