import t from 'tap';
import { createPolicyProblem } from '../../../../src/features/cross-tenant/cross-tenant-policies.ts';
import type { AdmissionRequest } from '../../../../src/kubernetes/admission-v1.ts';
import { ADMIN, type AskedRight, admissionRequest, verdictOn } from '../../../support/admission-reviews.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { rule } from '../../../support/policy-rule.ts';

const POLICIES = { group: 'tenancy.stonegate.dev', version: 'v1alpha1', resource: 'crosstenantpolicies' };
const readPods = rule('get,list', 'pods,pods/log');

interface Spec {
  readonly subjects?: readonly object[];
  readonly namespaces?: unknown;
  readonly rules?: unknown;
}

function policy({ subjects, namespaces = ['web'], rules = [readPods] }: Spec = {}, metadata: object = {}) {
  const guests = subjects ?? [{ kind: 'User', tenant: 'globex', name: 'gina' }];
  return {
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'CrossTenantPolicy',
    metadata: { name: 'p', tenant: 'acme', ...metadata },
    spec: { subjects: guests, namespaces, rules },
  };
}

function request(changes: Partial<AdmissionRequest>): AdmissionRequest {
  return admissionRequest({ ...POLICIES, namespace: '', object: policy(), ...changes });
}

const policyProblem = createPolicyProblem({
  systemTenant: 'system',
  grantable: undefined,
  clock: createFakeClock(),
});

const reviewed = (changes: Partial<AdmissionRequest>, holds: (right: AskedRight) => boolean) =>
  verdictOn(request(changes), holds, { policyProblem });

const all = () => true;
const none = () => false;
const allButEscalate = ({ verb }: AskedRight) => verb !== 'escalate';

t.test('an author who holds each right that the policy grants may write it', async (t) => {
  const { allowed, asked } = await reviewed({}, allButEscalate);
  t.equal(allowed, true);
  const common = { user: 'acme:alice', tenant: 'acme' };
  const [first, ...others] = asked;
  t.match(first, { ...common, verb: 'escalate', resource: 'crosstenantpolicies', name: 'p' });
  const pods = { ...common, group: '', resource: 'pods', namespace: 'web' };
  t.same(
    others,
    [
      { ...pods, verb: 'get' },
      { ...pods, verb: 'list' },
      { ...pods, verb: 'get', subresource: 'log' },
      { ...pods, verb: 'list', subresource: 'log' },
    ],
    'each right is reviewed once, and for every object: without a name',
  );
});

t.test('if the author lacks the first right, not all the others are reviewed', async (t) => {
  const verbs = Array.from({ length: 100 }, (_, at) => `verb${'a'.repeat(at % 50)}${at < 50 ? 'b' : 'c'}`);
  const object = policy({ rules: [{ ...readPods, verbs }] });
  const { asked } = await reviewed({ object }, none);
  t.ok(asked.length <= 5, `${asked.length}`);
});

t.test('a policy that grants more rights than can be reviewed is refused without a review', async (t) => {
  const resources = Array.from({ length: 60 }, (_, at) => `kind${at}`);
  const spec = {
    namespaces: Array.from({ length: 5 }, (_, at) => `n${at}`),
    rules: [{ ...readPods, verbs: ['get', 'list', 'watch', 'create'], resources }],
  };
  const { asked, message } = await reviewed({ object: policy(spec) }, all);
  t.same(asked, []);
  t.match(message, /^spec\.rules: it grants 1200 rights: more than 1000 cannot be reviewed/);
});

t.test('an update is reviewed if it changes the spec', async (t) => {
  const update = { operation: 'UPDATE', name: 'p', oldObject: policy() } as const;
  const labelled = await reviewed({ ...update, object: policy({}, { labels: { a: 'b' } }) }, none);
  t.match(labelled, { allowed: true, asked: { length: 0 } });
  const otherSubject = policy({ subjects: [{ kind: 'User', tenant: 'globex', name: '*' }] });
  t.match(await reviewed({ ...update, object: otherSubject }, none), { allowed: false });
  t.match(await reviewed({ ...update, object: otherSubject }, allButEscalate), { allowed: true });
});

t.test('only Stonegate writes the status', async (t) => {
  const ready = { ...policy(), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  const update = { operation: 'UPDATE', name: 'p', object: ready, oldObject: policy() } as const;
  for (const subresource of ['', 'status'])
    t.match(
      await reviewed({ ...update, subresource }, all),
      { allowed: false, asked: { length: 0 }, message: 'status: only Stonegate writes it' },
      subresource,
    );
  const provisioner = { username: 'stonegate-provisioner', groups: ['system:authenticated'] };
  t.match(await reviewed({ ...update, subresource: 'status', user: provisioner }, none), { allowed: true });
});

t.test('an administrator of the system has no more rights than RBAC grants', async (t) => {
  t.match(await reviewed({ user: ADMIN }, none), { allowed: false });
  t.match(await reviewed({ user: ADMIN }, all), {
    allowed: true,
    asked: [{ tenant: 'acme', user: 'admin' }],
  });
});

t.test('no policy lets users into the system tenant', async (t) => {
  for (const user of [ADMIN, { username: 'system:stonegate:dora', groups: [] }])
    t.match(await reviewed({ user, object: policy({}, { tenant: 'system' }) }, all), {
      allowed: false,
      message: /^metadata\.tenant: no policy/,
    });
});

t.test(
  'a user whose name only begins with the name of the system tenant is a user of another tenant',
  async (t) => {
    const user = { username: 'system-x:eve', groups: ['system:authenticated'] };
    t.match(await reviewed({ user, object: policy({}, { tenant: 'system-x' }) }, none), {
      allowed: false,
      asked: [{ tenant: 'system-x' }],
    });
  },
);

t.test('a service account’s rights cannot be reviewed: its name does not show its tenant', async (t) => {
  const user = { username: 'system:serviceaccount:kube-system:tenant-controller', groups: [] };
  const message = /service account/;
  t.match(await reviewed({ user }, all), { allowed: false, asked: { length: 0 }, message });
});

t.test('a policy that is too large is refused, unless the stored one is at least as large', async (t) => {
  const annotated = (length: number) => policy({}, { annotations: { note: 'x'.repeat(length) } });
  const verdict = (object: object, oldObject?: object) =>
    reviewed({ object, ...(oldObject && { operation: 'UPDATE', oldObject }) }, all);
  t.match(await verdict(annotated(60_000)), { allowed: true });
  const large = annotated(70_000);
  const refused = { allowed: false, message: /metadata: .* larger than 65536/ };
  t.match(await verdict(large), refused);
  t.match(await verdict(large, policy()), refused, 'by an annotation alone');
  for (const object of [large, annotated(66_000)]) t.match(await verdict(object, large), { allowed: true });
});
