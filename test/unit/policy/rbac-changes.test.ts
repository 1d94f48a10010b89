import t from 'tap';
import { desiredRBAC } from '../../../src/policy/desired-rbac.ts';
import type { PolicyObject } from '../../../src/policy/ports.ts';
import { policyChanges } from '../../../src/policy/rbac-changes.ts';
import { ALICE_READS_PODS, abacPolicies, resolvedPolicies } from '../../support/policies.ts';

const FORMS = new Set(['abac', 'administration', 'tenant'] as const);
const OPTIONS = { tenants: new Set(['acme', 'globex']), systemTenant: 'system', grantable: [] };
const desired = desiredRBAC(resolvedPolicies({ abac: abacPolicies(ALICE_READS_PODS) }).policies, OPTIONS);

/** As the API server has them. */
const stored: readonly PolicyObject[] = desired.map(({ tenant, object }) => ({
  ...object,
  metadata: { ...object.metadata, tenant, uid: object.metadata.name, resourceVersion: '1' },
}));

const told = (steps: ReturnType<typeof policyChanges>) =>
  steps.map((step) => step.map(({ action, tenant, object }) => `${action} ${object.kind} in ${tenant}`));

t.test('roles are created before the bindings that name them', async (t) => {
  t.same(told(policyChanges(desired, [], FORMS)), [
    ['create ClusterRole in system', 'create ClusterRole in globex'],
    ['create ClusterRoleBinding in globex'],
  ]);
});

t.test('nothing changes if everything is there', async (t) => {
  t.same(policyChanges(desired, stored, FORMS), []);
});

t.test('bindings are deleted before the roles that they name', async (t) => {
  t.same(told(policyChanges([], stored, FORMS)), [
    ['delete ClusterRoleBinding in globex'],
    ['delete ClusterRole in system', 'delete ClusterRole in globex'],
  ]);
});

t.test('another client’s change of rules or subjects is undone', async (t) => {
  const changed = stored.map(
    (object): PolicyObject =>
      object.kind === 'ClusterRole' ? { ...object, rules: [] } : { ...object, subjects: [] },
  );
  t.same(told(policyChanges(desired, changed, FORMS)), [
    ['update ClusterRole in system', 'update ClusterRole in globex'],
    ['update ClusterRoleBinding in globex'],
  ]);
});

t.test('a binding of another role is made anew', async (t) => {
  const changed = stored.map(
    (object): PolicyObject =>
      object.kind === 'ClusterRole' ? object : { ...object, roleRef: { ...object.roleRef, name: 'admin' } },
  );
  t.same(told(policyChanges(desired, changed, FORMS)), [
    ['delete ClusterRoleBinding in globex'],
    ['create ClusterRoleBinding in globex'],
  ]);
});

t.test('objects of forms that are not known stay as they are', async (t) => {
  t.same(policyChanges([], stored, new Set(['tenant'])), []);
  t.same(policyChanges(desired, [], new Set(['tenant'])), []);
});

t.test('an object that only looks like Stonegate’s stays as it is', async (t) => {
  const foreign = stored.map(
    (object): PolicyObject => ({ ...object, metadata: { ...object.metadata, name: 'mine' } }),
  );
  t.same(policyChanges([], foreign, FORMS), []);
  const unlabelled = stored.map(
    (object): PolicyObject => ({ ...object, metadata: { ...object.metadata, labels: {} } }),
  );
  t.same(policyChanges([], unlabelled, FORMS), []);
});
