import t from 'tap';
import { createAccessReviewsRule } from '../../../../src/features/admission/access-reviews.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { inspectedRequest } from '../../../support/inspected.ts';
import { linesOf } from '../../../support/rows.ts';

const V1 = '/apis/authorization.k8s.io/v1/tenants/acme';
const rule = createAccessReviewsRule({ isConfined: (tenant) => tenant !== 'system' });
const listPods = { verb: 'list', resource: 'pods', namespace: 'ns' };
const DENIED = { code: 'AccessDenied' };

async function admit(spec: unknown, path = `${V1}/subjectaccessreviews`) {
  const content = { kind: 'x', metadata: { namespace: 'ns' }, spec };
  return rule.admit({ format: 'object', content }, inspectedRequest({ path }));
}

t.test('a review gets the caller’s tenant; everything else is forwarded unchanged', async (t) => {
  const spec = { user: 'acme:carl', groups: ['devs'], extra: { tier: ['gold'] } };
  for (const tenant of [{}, { tenant: 'acme' }, { tenant: '' }])
    t.strictSame(await admit({ ...spec, resourceAttributes: { ...listPods, ...tenant } }), {
      kind: 'x',
      metadata: { namespace: 'ns' },
      spec: { ...spec, resourceAttributes: { ...listPods, tenant: 'acme' } },
    });
});

t.test('a question about a user of another tenant, or of none, is refused', async (t) => {
  for (const user of [
    '',
    ...linesOf(`
    globex:gina
    system:serviceaccount:ns:default
    acme
    ACME:carl
    acme2:carl`),
  ])
    for (const path of ['subjectaccessreviews', 'namespaces/ns/localsubjectaccessreviews']) {
      const asked = admit({ user, resourceAttributes: listPods }, `${V1}/${path}`);
      await t.rejects(asked, { ...DENIED, message: /spec.user is no user of the tenant/ }, user);
    }
  await t.rejects(admit({ groups: ['devs'], resourceAttributes: listPods }), DENIED);
  await t.rejects(admit({ user: 'globex:gina', nonResourceAttributes: { path: '/' } }), DENIED);
});

t.test('a question about another tenant is refused, not answered for the caller’s own tenant', async (t) => {
  for (const tenant of ['globex', 'all'])
    await t.rejects(admit({ user: 'acme:carl', resourceAttributes: { ...listPods, tenant } }), {
      ...DENIED,
      message: /is another tenant/,
    });
});

t.test('a question about a path is left to the API server', async (t) => {
  const nonResourceAttributes = { path: '/metrics', verb: 'get' };
  t.equal(await admit({ user: 'acme:carl', nonResourceAttributes }), undefined);
});

t.test('a SelfSubjectAccessReview names no user', async (t) => {
  const asked = admit({ resourceAttributes: listPods }, `${V1}/selfsubjectaccessreviews`);
  t.match(await asked, { spec: { resourceAttributes: { tenant: 'acme' } } });
});

t.test('a review that does not decode to one meaning is refused', async (t) => {
  for (const body of linesOf(`
    {"spec":{"user":["acme:carl"],"resourceAttributes":{"verb":"list"}}}
    {"spec":{"user":"acme:carl","User":"globex:gina","resourceAttributes":{"verb":"list"}}}
    {"spec":{"user":"acme:carl","resourceAttributes":{"Tenant":"globex"}}}
    {"spec":{"user":"acme:carl","resourceAttributes":[]}}
    {"spec":{"user":"acme:carl"},"Spec":{"user":"globex:gina"}}`)) {
    const request = inspectedRequest({ path: `${V1}/subjectaccessreviews` });
    const admitted = async () => rule.admit({ format: 'object', content: JSON.parse(body) }, request);
    await t.rejects(admitted(), { code: 'BodyMalformed' }, body);
  }
});

t.test('a system user may ask about any tenant, so the review is not inspected', async (t) => {
  const { info } = inspectedRequest({ path: '/apis/authorization.k8s.io/v1/subjectaccessreviews' });
  t.notOk(rule.appliesTo(info, toTenantName('system')));
  t.ok(rule.appliesTo(info, toTenantName('acme')));
});
