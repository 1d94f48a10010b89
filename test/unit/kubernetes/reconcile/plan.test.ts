import t from 'tap';
import { KINDS, objectKey, type ResourceKind } from '../../../../src/kubernetes/kubernetes-object.ts';
import { type Comparison, makePlan } from '../../../../src/kubernetes/reconcile/plan.ts';

/** An object as one that is desired and missing, and as one that exists and is not desired. */
function objectOf(kind: ResourceKind, name: string, comparison?: Comparison) {
  const object = { apiVersion: 'v1', kind: kind.resource, metadata: { name } };
  const fields = { kind, place: {}, object };
  const compare = () => comparison ?? ({ action: 'create', object } as const);
  const deletion = { reason: 'it is not desired', isOwned: () => true };
  return { desired: { ...fields, reason: 'a role', compare }, existing: { ...fields, deletion } };
}

t.test('a binding is not written if its role is refused, and both are reported', async (t) => {
  const role = objectOf(KINDS.ClusterRole, 'edit', { refused: 'another client created it' }).desired;
  const requires = [objectKey(role.kind, role.place, 'edit')];
  const binding = { ...objectOf(KINDS.RoleBinding, 'editors').desired, requires };
  const plan = await makePlan({ desired: [binding, role], existing: [] });
  t.same(plan.changes, []);
  t.same(plan.refusals, [
    { subject: 'clusterroles edit', reason: 'another client created it' },
    { subject: 'rolebindings editors', reason: 'it needs clusterroles edit, which is refused' },
  ]);
});

t.test(
  'tenants and namespaces are written before what is in them; bindings are deleted first and written last',
  async (t) => {
    const kinds = [KINDS.RoleBinding, KINDS.ClusterRole, KINDS.Namespace, KINDS.Tenant];
    const plan = await makePlan({
      desired: kinds.map((kind) => objectOf(kind, 'new').desired),
      existing: kinds.map((kind) => objectOf(kind, 'old').existing),
    });
    t.same(
      plan.changes.map(({ action, kind }) => `${action} ${kind.resource}`),
      [
        ...['delete rolebindings', 'create tenants', 'create namespaces', 'create clusterroles'],
        ...['create rolebindings', 'delete clusterroles', 'delete namespaces', 'delete tenants'],
      ],
    );
  },
);
