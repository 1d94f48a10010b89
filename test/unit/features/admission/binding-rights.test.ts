import t from 'tap';
import type { AdmissionRequest } from '../../../../src/kubernetes/admission-v1.ts';
import { ADMIN, type AskedRight, admissionRequest, verdictOn } from '../../../support/admission-reviews.ts';

const RBAC = 'rbac.authorization.k8s.io';
const view = { apiGroup: RBAC, kind: 'ClusterRole', name: 'view' };
const eve = { apiGroup: RBAC, kind: 'User', name: 'acme:eve' };

function binding(fields: object = {}, metadata: object = {}): object {
  return { metadata: { name: 'b', tenant: 'acme', ...metadata }, roleRef: view, subjects: [eve], ...fields };
}

async function reviewed(changes: Partial<AdmissionRequest>, holds = false, mode?: 'shared') {
  const asked: AskedRight[] = [];
  const kind = { group: RBAC, resource: 'rolebindings', namespace: 'web' };
  const { allowed, status } = await verdictOn(admissionRequest({ ...kind, object: binding(), ...changes }), {
    ...(mode && { mode }),
    holds(right) {
      asked.push(right);
      return holds;
    },
  });
  return { allowed, message: status?.message, asked };
}

t.test('a tenant’s user on Arktos needs the right to bind the role in the tenant', async (t) => {
  t.match(await reviewed({}), {
    allowed: false,
    message: 'roleRef: the user may not bind the ClusterRole "view"',
  });
  t.match(await reviewed({}, true), {
    allowed: true,
    asked: [
      { verb: 'bind', group: RBAC, resource: 'clusterroles', name: 'view', namespace: 'web', tenant: 'acme' },
    ],
  });
  const role = binding({ roleRef: { ...view, kind: 'Role', name: 'own' } });
  t.match((await reviewed({ object: role }, true)).asked, [{ resource: 'roles', name: 'own' }]);
  const wide = { resource: 'clusterrolebindings', namespace: '' };
  const [right] = (await reviewed(wide, true)).asked;
  t.ok(right !== undefined && !('namespace' in right), 'in the whole tenant');
});

t.test('an update counts if it gives the role to others', async (t) => {
  const update = { operation: 'UPDATE', name: 'b', oldObject: binding() } as const;
  t.match(await reviewed({ ...update, object: binding({ subjects: [] }) }), { allowed: false });
  t.match(await reviewed({ ...update, object: binding({}, { labels: { a: 'b' } }) }), {
    allowed: true,
    asked: [],
  });
  t.match(await reviewed({ ...update, operation: 'DELETE', object: undefined }), {
    allowed: true,
    asked: [],
  });
});

t.test('a role that cannot be told is refused unasked', async (t) => {
  for (const roleRef of [undefined, null, 'view', { ...view, kind: 'Gadget' }, { ...view, name: '../view' }])
    t.match(
      await reviewed({ object: binding({ roleRef }) }, true),
      { allowed: false, asked: [], message: /^roleRef: / },
      JSON.stringify(roleRef),
    );
});

t.test('users of the system, and the provisioner, are compared by Arktos alone', async (t) => {
  const provisioner = { username: 'stonegate-provisioner', groups: ['system:authenticated'] };
  const dora = { username: 'system:stonegate:dora', groups: ['system:authenticated'] };
  for (const user of [ADMIN, dora, provisioner])
    t.match(await reviewed({ user }), { allowed: true, asked: [] }, user.username);
});

t.test('an ordinary API server compares bindings itself', async (t) => {
  t.match(await reviewed({}, false, 'shared'), { allowed: true, asked: [] });
});

t.test('a service account is refused, except the first binding of a new tenant', async (t) => {
  const account = (name: string) => ({ username: `system:serviceaccount:kube-system:${name}`, groups: [] });
  t.match(await reviewed({ user: account('x') }, true), { allowed: false, asked: [] });
  const roleRef = { ...view, name: 'admin-role' };
  const admin = { ...eve, name: 'admin' };
  const wide = { resource: 'clusterrolebindings', namespace: '', user: account('tenant-controller') };
  const first = (fields: object = {}) =>
    binding({ roleRef, subjects: [admin], ...fields }, { name: 'admin-role-binding' });
  t.match(await reviewed({ ...wide, object: first() }), { allowed: true, asked: [] });
  t.match(await reviewed({ ...wide, user: account('x'), object: first() }), { allowed: false });
  t.match(await reviewed({ ...wide, object: first({ subjects: [eve] }) }), { allowed: false });
  t.match(await reviewed({ ...wide, object: first({ subjects: [admin, eve] }) }), { allowed: false });
});
