import t from 'tap';
import { createProtobufBodyAdmission } from '../../../src/admission/admission.ts';
import { readRequestInfo } from '../../../src/pipeline/request/request-info.ts';
import { isSelfReview } from '../../../src/tenancy/self-review.ts';

const PODS = '/api/v1/namespaces/default/pods';
const plugin = createProtobufBodyAdmission(isSelfReview);
const admit = (method: string, target: string, ...types: string[]): void =>
  plugin.admit(
    { method, headers: types.map((type) => ['content-type', type] as const) },
    readRequestInfo(method, target, { readsTenantFromPath: true }),
  );

t.test('an object in protobuf is refused', async (t) => {
  for (const type of [
    'application/vnd.kubernetes.protobuf',
    ' Application/vnd.Kubernetes.protobuf ;charset=x',
    'application/vnd.kubernetes.protobuf, application/json',
  ])
    for (const [method, target] of [
      ['POST', PODS],
      ['PUT', `${PODS}/web`],
      ['PATCH', `${PODS}/web`],
      ['DELETE', `${PODS}/web`],
      ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ] as const)
      t.throws(() => admit(method, target, type), { code: 'MediaTypeUnsupported' }, `${method} ${target}`);
  t.throws(() => admit('POST', PODS, 'application/json', 'application/vnd.kubernetes.protobuf'), {
    code: 'MediaTypeUnsupported',
  });
});

t.test(
  'reviews that Stonegate decodes, requests without a body, other types and workloads are not',
  async () => {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    admit('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', protobuf);
    admit('GET', PODS, protobuf);
    admit('POST', PODS, 'application/json');
    admit('POST', PODS, 'application/vnd.kubernetes.protobufx');
    admit('POST', `${PODS}/web/proxy/upload`, protobuf);
  },
);
