import t from 'tap';
import { createAccessReviewsRule } from '../../../../src/features/admission/access-reviews.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { inspectedRequest } from '../../../support/inspected.ts';

const V1 = '/apis/authorization.k8s.io/v1/tenants/acme';
const admission = createAccessReviewsRule({
  isConfined: (tenant) => tenant !== 'system',
});
const listPods = { verb: 'list', resource: 'pods', namespace: 'ns' };

async function admit(spec: unknown, path = `${V1}/subjectaccessreviews`, more: object = {}) {
  const content = { ...more, spec };
  return admission.admit({ format: 'object', content }, inspectedRequest({ path }));
}

t.test('the tenant of a review is the caller’s', async (t) => {
  const spec = { user: 'acme:carl', groups: ['devs'], uid: 'u', extra: { tier: ['gold'] } };
  t.strictSame(await admit({ ...spec, resourceAttributes: listPods }), {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { ...spec, resourceAttributes: { ...listPods, tenant: 'acme' } },
  });
});

t.test('nothing is forwarded but the fields that are known', async (t) => {
  const resourceAttributes = { ...listPods, tenant: 'acme', fieldSelector: { rawSelector: 'a=b' } };
  const spec = { user: 'acme:carl', resourceAttributes, other: 1 };
  t.strictSame(await admit(spec, undefined, { metadata: { name: 'x' }, status: { allowed: true } }), {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { user: 'acme:carl', resourceAttributes: { ...listPods, tenant: 'acme' } },
  });
});

t.test('in v1beta1 the groups stand under their former name', async (t) => {
  const path = '/apis/authorization.k8s.io/v1beta1/tenants/acme/subjectaccessreviews';
  t.match(await admit({ user: 'acme:carl', group: ['devs'], resourceAttributes: listPods }, path), {
    apiVersion: 'authorization.k8s.io/v1beta1',
    spec: { group: ['devs'] },
  });
});

for (const user of [
  'globex:gina',
  'carl',
  '',
  'system:admin',
  'system:serviceaccount:ns:default',
  'all:zed',
  'acme',
  'ACME:carl',
  ' acme:carl',
  'acme2:carl',
])
  t.test(`a question about the user ${JSON.stringify(user)} is refused`, async (t) => {
    await t.rejects(admit({ user, resourceAttributes: listPods }), {
      code: 'AccessDenied',
      message: /cannot create resource "subjectaccessreviews" .* "acme": spec.user is no user of the tenant/,
    });
  });

t.test('a question about groups alone is refused: they are of no tenant', async (t) => {
  await t.rejects(admit({ groups: ['devs'], resourceAttributes: listPods }), { code: 'AccessDenied' });
});

t.test('a question about another tenant is refused, not answered about one’s own', async (t) => {
  for (const tenant of ['globex', 'system', 'all'])
    await t.rejects(admit({ user: 'acme:carl', resourceAttributes: { ...listPods, tenant } }), {
      code: 'AccessDenied',
      message: /is another tenant/,
    });
});

t.test('a question about a path is the API server’s to answer', async (t) => {
  const nonResourceAttributes = { path: '/metrics', verb: 'get' };
  t.match(await admit({ user: 'acme:carl', nonResourceAttributes }), { spec: { nonResourceAttributes } });
});

t.test('local reviews are held to the same', async (t) => {
  const path = `${V1}/namespaces/ns/localsubjectaccessreviews`;
  t.match(await admit({ user: 'acme:carl', resourceAttributes: listPods }, path), {
    kind: 'LocalSubjectAccessReview',
    spec: { resourceAttributes: { tenant: 'acme' } },
  });
  await t.rejects(admit({ user: 'globex:gina', resourceAttributes: listPods }, path), {
    code: 'AccessDenied',
  });
});

t.test('a self review in a form that Stonegate does not answer itself names no user', async (t) => {
  const path = `${V1}/namespaces/ns/selfsubjectaccessreviews`;
  t.strictSame(await admit({ user: 'globex:gina', resourceAttributes: listPods }, path), {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { resourceAttributes: { ...listPods, tenant: 'acme' } },
  });
});

for (const [what, spec] of [
  ['neither kind of attributes', { user: 'acme:carl' }],
  ['both kinds', { user: 'acme:carl', resourceAttributes: {}, nonResourceAttributes: {} }],
  ['a user that is no text', { user: ['acme:carl'], resourceAttributes: listPods }],
  ['another spelling of user', { user: 'acme:carl', User: 'globex:gina', resourceAttributes: listPods }],
  ['another spelling of tenant', { user: 'acme:carl', resourceAttributes: { Tenant: 'globex' } }],
  ['another spelling of the attributes', { user: 'acme:carl', resourceattributes: { tenant: 'globex' } }],
  ['groups that are no list', { user: 'acme:carl', groups: 'devs', resourceAttributes: listPods }],
  ['a group that is no text', { user: 'acme:carl', groups: [1], resourceAttributes: listPods }],
] as const)
  t.test(`a review with ${what} is no review`, async (t) => {
    await t.rejects(admit(spec), { code: 'BodyMalformed' });
  });

t.test('a review of another kind than the path’s is no review', async (t) => {
  const spec = { user: 'acme:carl', resourceAttributes: listPods };
  await t.rejects(admit(spec, undefined, { kind: 'TokenReview' }), { code: 'BodyMalformed' });
});

t.test('a system user asks about any tenant, so the review is not read', async (t) => {
  const { info } = inspectedRequest({ path: '/apis/authorization.k8s.io/v1/subjectaccessreviews' });
  t.notOk(admission.concerns(info, toTenantName('system')));
  t.ok(admission.concerns(info, toTenantName('acme')));
});
