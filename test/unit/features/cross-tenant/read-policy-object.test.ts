import t from 'tap';
import { parse } from 'yaml';
import {
  readClusterRole,
  readCrossTenantPolicy,
  readRegistration,
  readTenant,
} from '../../../../src/features/cross-tenant/read-policy-object.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';

const RULE = {
  apiGroups: ['tenancy.stonegate.dev'],
  apiVersions: ['*'],
  resources: ['crosstenantpolicies'],
  operations: ['CREATE', 'UPDATE'],
};
const registration = (webhook: object, metadata: object = {}) => ({
  metadata: { name: 'stonegate-policies', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  webhooks: [{ name: 'other' }, { failurePolicy: 'Fail', rules: [RULE], ...webhook }],
});

t.test('the webhook counts from the creation of its configuration', async (t) => {
  const since = Date.UTC(2026, 0, 1);
  const anything = parse('{namespaceSelector: {}, objectSelector: {}, matchConditions: []}');
  for (const webhook of [{}, anything])
    t.same(readRegistration(registration(webhook)), { registered: true, since });
  for (const every of linesOf(`
    {operations: ['*']}
    {apiGroups: ['*']}
    {resources: ['*']}
    {resources: ['*/*']}`))
    t.match(readRegistration(registration({ rules: [{ ...RULE, ...parse(every) }] })), { registered: true });
  const two = [
    { ...RULE, operations: ['CREATE'] },
    { ...RULE, operations: ['UPDATE', 'DELETE'] },
  ];
  t.match(readRegistration(registration({ rules: two })), { registered: true });
  const [created, updated] = two.map((rule) => ({ failurePolicy: 'Fail', rules: [rule] }));
  const { metadata } = registration({});
  t.match(readRegistration({ metadata, webhooks: [created, updated] }), { registered: true });
  t.match(readRegistration({ metadata, webhooks: [created] }), { registered: false });
});

t.test('a webhook that does not see each policy checks nothing', async (t) => {
  await eachRow(
    `
    fails open | {failurePolicy: Ignore}
    selects namespaces | {namespaceSelector: {matchLabels: {a: b}}}
    selects objects | {objectSelector: {matchExpressions: []}}
    has a condition | {matchConditions: [{name: a, expression: 'false'}]}`,
    (what, webhook) => t.same(readRegistration(registration(parse(webhook))), { registered: false }, what),
  );
  await eachRow(
    `
    does not see updates | {operations: [CREATE]}
    is for another group | {apiGroups: [example.com]}
    is for another version | {apiVersions: [v2]}
    is for subresources | {resources: [crosstenantpolicies/status]}
    is for one scope | {scope: Namespaced}`,
    (what, rule) => {
      const rules = [{ ...RULE, ...parse(rule) }];
      t.same(readRegistration(registration({ rules })), { registered: false }, what);
    },
  );
});

t.test('a configuration with another name, or without a creation time, checks nothing', async (t) => {
  t.equal(readRegistration(registration({}, { name: 'other' })), undefined);
  t.same(readRegistration(registration({}, { creationTimestamp: 'soon' })), { registered: false });
});

t.test('a value that is not an object of the kind is ignored', async (t) => {
  for (const value of [null, 'text', {}, { metadata: {} }, { kind: 'Role', metadata: { name: 'a' } }]) {
    t.equal(readCrossTenantPolicy(value), undefined);
    t.equal(readClusterRole(value), undefined);
  }
  t.equal(readClusterRole({ metadata: { name: 'a' }, rules: [{ verbs: 'get' }] }), undefined);
  t.same(readClusterRole({ metadata: { name: 'a' }, rules: [{ verbs: ['get'] }] }), [
    'a',
    [{ verbs: ['get'] }],
  ]);
});

t.test('roles that policies of tenants cause in the system tenant are not stored', async (t) => {
  const role = (name: string) => readClusterRole({ metadata: { name }, rules: [] });
  t.equal(role('stonegate:policy:tenant:x'), undefined);
  t.same(role('stonegate-like'), ['stonegate-like', []]);
});

t.test('a tenant that is being deleted is ignored', async (t) => {
  t.same(readTenant({ metadata: { name: 'acme' } }), { name: 'acme', labels: {} });
  t.equal(readTenant({ metadata: { name: 'acme', deletionTimestamp: '2026-01-01T00:00:00Z' } }), undefined);
});
