import t from 'tap';
import type { StoredObject } from '../../../../src/kubernetes/kubernetes-object.ts';
import { compareOwned } from '../../../../src/kubernetes/reconcile/drift.ts';

const RBAC = 'rbac.authorization.k8s.io';
const metadata = { name: 'a', labels: { owner: 'stonegate' }, annotations: { reason: 'web' } };
const binding = {
  ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata },
  roleRef: { kind: 'ClusterRole', name: 'edit' },
  subjects: [
    { kind: 'Group', name: 'dev' },
    { kind: 'ServiceAccount', name: 'bot', namespace: 'web' },
  ],
};
const role = {
  ...{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
};
const quota = {
  apiVersion: 'tenancy.stonegate.dev/v1alpha1',
  kind: 'TenantQuota',
  metadata,
  spec: { hard: { pods: '3' } },
};

/** What is done to an object of Stonegate's to which another client has made the changes. */
function actionFor(desired: StoredObject, changes: object) {
  const comparison = compareOwned(desired, { ...desired, ...changes }, () => true);
  if ('refused' in comparison) return 'refused';
  return 'replaces' in comparison ? 'replace' : comparison.action;
}

t.test('an object that means the same is left as it is, with the labels of others', async (t) => {
  const [group, account] = binding.subjects;
  const labels = { ...metadata.labels, team: 'a' };
  for (const [desired, changes] of [
    [binding, { metadata: { ...metadata, labels }, roleRef: { apiGroup: RBAC, ...binding.roleRef } }],
    [
      binding,
      {
        subjects: [
          { ...group, apiGroup: RBAC },
          { ...account, apiGroup: '' },
        ],
      },
    ],
    [role, { rules: [{ ...role.rules[0], resourceNames: [] }], aggregationRule: null }],
    [quota, { status: { used: { pods: '1' } } }],
  ] as const)
    t.equal(actionFor(desired, changes), 'none', JSON.stringify(changes));
});

t.test('what another client has changed in an object of Stonegate is undone', async (t) => {
  const [group, account] = binding.subjects;
  for (const [desired, changes, action = 'update'] of [
    [binding, { metadata: { ...metadata, labels: {} } }],
    [binding, { metadata: { ...metadata, annotations: { reason: 'other' } } }],
    [binding, { subjects: [group] }],
    [binding, { subjects: null }],
    [binding, { subjects: [group, { ...account, namespace: 'other' }] }],
    [binding, { roleRef: { kind: 'ClusterRole', name: 'admin' } }, 'replace'],
    [binding, { roleRef: { kind: 'Role', name: 'edit' } }, 'replace'],
    [role, { rules: [{ ...role.rules[0], verbs: ['*'] }] }],
    [role, { rules: [{ ...role.rules[0], resourceNames: ['x'] }] }],
    [role, { aggregationRule: {} }],
    [quota, { spec: { hard: { pods: '9' } } }],
    [quota, { spec: undefined }],
  ] as const)
    t.equal(actionFor(desired, changes), action, JSON.stringify(changes));
});

t.test('an object that Stonegate did not create is refused', async (t) =>
  t.match(
    compareOwned(role, role, () => false),
    { refused: /did not create it/ },
  ),
);

t.test('an object that is missing is created', async (t) =>
  t.match(
    compareOwned(role, undefined, () => false),
    { action: 'create', object: role },
  ),
);
