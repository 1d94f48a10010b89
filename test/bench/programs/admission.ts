/**
 * Admission reviews per second on one core: reading, deciding and writing, as the webhook does it for each
 * posted body. Run: `node test/bench/programs/admission.ts [seconds]`.
 */
import { admissionRequest, admissionReview, CALLER, reviewerOf } from '../../support/admission-reviews.ts';

const seconds = Number(process.argv[2] ?? 2);

function pod(containers: number): object {
  const one = (at: number) => ({
    name: `c${at}`,
    image: 'registry.example.com/team/program:1.2.3',
    env: Array.from({ length: 20 }, (_, index) => ({ name: `NAME_${index}`, value: `value ${index}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    livenessProbe: { httpGet: { path: '/livez', port: 8080 } },
  });
  return {
    metadata: { name: 'p', namespace: 'default', tenant: 'acme', labels: { app: 'x' } },
    spec: {
      containers: Array.from({ length: containers }, (_, at) => one(at)),
      volumes: [{ name: 'data', emptyDir: {} }],
      tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }],
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    },
  };
}

const review = reviewerOf({ rule: { level: 'restricted' } });
const cases = {
  'create a pod of one container': admissionRequest({ object: pod(1) }),
  'update a pod of ten containers': admissionRequest({
    operation: 'UPDATE',
    object: pod(10),
    oldObject: pod(10),
  }),
  'refuse a pod of 5,000 values': admissionRequest({
    object: { metadata: { tenant: 'acme' }, spec: { containers: Array.from({ length: 4_990 }, () => ({})) } },
  }),
};

for (const [name, request] of Object.entries(cases)) {
  const body = Buffer.from(JSON.stringify(admissionReview(request)));
  const end = performance.now() + seconds * 1_000;
  const begun = process.cpuUsage();
  let count = 0;
  for (; performance.now() < end; count += 1) await review(body).complete(CALLER);
  const { user, system } = process.cpuUsage(begun);
  const perSecond = Math.round(count / ((user + system) / 1e6));
  console.log(`${name} (${body.length} bytes): ${perSecond} reviews per second of one core`);
}
