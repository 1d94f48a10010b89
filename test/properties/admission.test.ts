/**
 * The admission webhook responds to any body with a verdict for its uid or with a well-formed error, and
 * refuses what a tenant may not use wherever it occurs in an object.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { readAdmissionReview } from '../../src/features/admission/admission-review.ts';
import {
  admissionRequest,
  admissionReview,
  CALLER,
  decisionOf,
  refusedPaths,
  reviewerOf,
} from '../support/admission-reviews.ts';

const scraps = fc.oneof(fc.constant(undefined), fc.jsonValue({ maxDepth: 3 }));
const KINDS = [
  ['', 'pods'],
  ['', 'namespaces'],
  ['', 'nodes'],
  ['', 'persistentvolumes'],
  ['', 'bindings'],
  ['apps', 'daemonsets'],
  ['batch', 'cronjobs'],
  ['apiextensions.k8s.io', 'customresourcedefinitions'],
  ['rbac.authorization.k8s.io', 'rolebindings'],
  ['tenancy.stonegate.dev', 'crosstenantpolicies'],
  ['', 'configmaps'],
] as const;
const FIELDS = [
  'metadata',
  'spec',
  'template',
  'jobTemplate',
  'containers',
  'nodeSelector',
  'labels',
  'tenant',
  'annotations',
  'multi-tenancy.k8s.io/published',
  'rules',
  'verbs',
  'namespaces',
  'roleRef',
];

/** Almost an API object: nested known fields with arbitrary values. */
const nearlyObject = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    scraps,
    fc.dictionary(
      fc.constantFrom(...FIELDS, 'hostPath', 'tolerations', 'affinity', '__proto__'),
      tie('node'),
      {
        maxKeys: 4,
      },
    ),
    fc.array(tie('node'), { maxLength: 3 }),
  ),
})).node;

const nearlyReview = fc
  .record({
    apiVersion: fc.oneof(fc.constantFrom('admission.k8s.io/v1', 'admission.k8s.io/v1beta1'), scraps),
    kind: fc.oneof(fc.constant('AdmissionReview'), scraps),
    uid: fc.oneof(fc.constant('u-1'), scraps),
    operation: fc.oneof(fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT'), scraps),
    kindOf: fc.constantFrom(...KINDS),
    subResource: fc.oneof(fc.constantFrom('', 'status', 'binding', 'ephemeralcontainers'), scraps),
    username: fc.oneof(fc.constantFrom('acme:a', 'system:node:n', 'system:serviceaccount:a:b'), scraps),
    groups: fc.oneof(fc.constantFrom([], ['stonegate:tenant:acme']), scraps),
    object: nearlyObject,
    oldObject: nearlyObject,
  })
  .map(({ apiVersion, kind, kindOf: [group, resource], username, groups, ...rest }) => ({
    apiVersion,
    kind,
    request: { ...rest, resource: { group, version: 'v1', resource }, userInfo: { username, groups } },
  }));

const bodies = fc.oneof(
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  nearlyReview.map((value) => Buffer.from(JSON.stringify(value))),
);

for (const mode of ['arktos', 'shared'] as const)
  t.test(`${mode}: any body gets a verdict for its uid or a 400`, async () => {
    const review = reviewerOf({ mode, rule: { level: 'restricted' } });
    await fc.assert(
      fc.asyncProperty(bodies, async (posted) => {
        try {
          const { request } = readAdmissionReview(posted);
          const { response } = await review(request).complete(CALLER);
          return response.uid === request.uid;
        } catch (error) {
          return error instanceof StatusError && error.code === 'BodyMalformed';
        }
      }),
      { numRuns: 1_000 },
    );
  });

const PLACES = [
  ['', 'pods', (spec: object) => ({ spec })],
  ['', 'podtemplates', (spec: object) => ({ template: { spec } })],
  ['apps', 'deployments', (spec: object) => ({ spec: { template: { spec } } })],
  ['apps', 'statefulsets', (spec: object) => ({ spec: { template: { spec } } })],
  ['batch', 'jobs', (spec: object) => ({ spec: { template: { spec } } })],
  ['batch', 'cronjobs', (spec: object) => ({ spec: { jobTemplate: { spec: { template: { spec } } } } })],
] as const;
const FORBIDDEN = [
  { nodeName: 'n1' },
  { nodeSelector: { pool: 'gold' } },
  { tolerations: [{ operator: 'Exists' }] },
  { priorityClassName: 'system-node-critical' },
  { hostNetwork: true },
  { volumes: [{ name: 'v', hostPath: { path: '/' } }] },
  { vpc: 'other' },
];

t.test(
  'D236 a forbidden field is refused in every place where a pod spec occurs, whatever the other fields',
  async () => {
    const decide = decisionOf();
    const others = fc.dictionary(fc.constantFrom('restartPolicy', 'dnsPolicy', 'hostname'), fc.string());
    fc.assert(
      fc.property(
        fc.constantFrom(...PLACES),
        fc.constantFrom(...FORBIDDEN),
        others,
        fc.constantFrom('acme:alice', 'system:serviceaccount:kube-system:x', 'admin'),
        ([group, resource, place], forbidden, beside, username) => {
          const object = { metadata: { tenant: 'acme' }, ...place({ ...beside, ...forbidden }) };
          const user = { username, groups: [] };
          const created = admissionRequest({ group, resource, object, user });
          const stored = { metadata: { tenant: 'acme' }, ...place(beside) };
          const changed = { ...created, operation: 'UPDATE', oldObject: stored } as const;
          const unchanged = { ...changed, oldObject: object };
          return (
            refusedPaths(decide(created)).length > 0 &&
            refusedPaths(decide(changed)).length > 0 &&
            refusedPaths(decide(unchanged)).length === 0
          );
        },
      ),
    );
  },
);

t.test('a posted review is parsed without changes, or refused', async () => {
  fc.assert(
    fc.property(fc.constantFrom('v1', 'v1beta1'), nearlyObject, (version, value) => {
      const request = admissionRequest({ object: { spec: JSON.parse(JSON.stringify(value ?? null)) } });
      const body = Buffer.from(JSON.stringify(admissionReview(request, version)));
      try {
        return JSON.stringify(readAdmissionReview(body).request) === JSON.stringify(request);
      } catch (error) {
        return error instanceof StatusError;
      }
    }),
  );
});

t.test('only the schemas of a CustomResourceDefinition may hold very many values', async (t) => {
  const keys = Array.from({ length: 199_000 }, (_, at) => [`k${at}`, 1]);
  const values = { spec: { versions: [Object.fromEntries(keys)] } };
  const bodyOf = (group: string, resource: string) =>
    Buffer.from(JSON.stringify(admissionReview(admissionRequest({ group, resource, object: values }))));
  const definitions = bodyOf('apiextensions.k8s.io', 'customresourcedefinitions');
  t.equal(readAdmissionReview(definitions).request.resource, 'customresourcedefinitions');
  const read = JSON.stringify(readAdmissionReview(definitions).request.object);
  t.match(read, /^\{"spec":\{"versions":\["[0-9a-f]{64}"\]\}\}$/, 'they are not parsed');
  const refused = { code: 'BodyMalformed', message: /too many values/ };
  t.throws(() => readAdmissionReview(bodyOf('', 'pods')), refused);
  t.throws(() => readAdmissionReview(bodyOf('example.com', 'customresourcedefinitions')), refused);
  const late = Buffer.from(definitions.toString().replace('{"uid"', `{"x":"${'x'.repeat(4_096)}","uid"`));
  t.throws(
    () => readAdmissionReview(late),
    refused,
    'only the beginning of the body is searched for the resource',
  );
  const posing = bodyOf('', 'pods')
    .toString()
    .replace('{"uid"', '{"x":{"resource":"customresourcedefinitions"},"uid"');
  t.throws(() => readAdmissionReview(Buffer.from(posing)), refused);
});
