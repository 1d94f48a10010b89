/** The cost of an enumeration: a role is evaluated once, however many bindings refer to it. */
import t from 'tap';
import type { PolicyRule } from '../../../src/kubernetes/kubernetes-object.ts';
import { type RBACUser, uniformSubject } from '../../../src/rbac/attributes.ts';
import { isAllowedIn, namespacesAllowed, visibleNamespaces } from '../../../src/rbac/enumerate.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  namespace,
  nextRevision,
  rbacUser,
  role,
  roleBinding,
} from '../../support/rbac-objects.ts';

/** A rule that grants nothing here, and counts how often it is evaluated. */
function countedRule() {
  let evaluations = 0;
  const rule: PolicyRule = {
    get verbs() {
      evaluations += 1;
      return ['create'];
    },
    apiGroups: [''],
    resources: ['namespaces'],
  };
  return { rule, evaluations: () => evaluations };
}

for (const kind of ['Role', 'ClusterRole'])
  t.test(`one ${kind} that a tenant binds a thousand times to every user is evaluated once`, async (t) => {
    const { rule, evaluations } = countedRule();
    const everyone = group('system:authenticated');
    const index = indexOf(
      namespace('shop'),
      kind === 'Role' ? role('shop', 'heavy', [rule]) : clusterRole('heavy', [rule]),
      ...Array.from({ length: 1_000 }, (_, n) => roleBinding('shop', `b${n}`, `${kind}/heavy`, [everyone])),
    );
    const eve = rbacUser('eve', ['system:authenticated']);
    const subject = { cluster: eve, other: eve, namespaces: new Map<string, RBACUser>() };
    const before = evaluations();
    t.same(namespacesAllowed(index, subject, visibleNamespaces('')), []);
    t.equal(evaluations() - before, 1);
  });

t.test(
  'without tenants, a RoleBinding to all users grants rights but makes no namespace visible',
  async (t) => {
    for (const name of ['system:authenticated', 'system:unauthenticated', 'system:serviceaccounts']) {
      const viewer = clusterRole('viewer', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]);
      const [bound, free] = [namespace('bound'), namespace('free')];
      const binding = roleBinding('bound', 'open', 'ClusterRole/viewer', [group(name)]);
      const index = indexOf(bound, free, viewer, binding);
      const eve = rbacUser('eve', [name]);
      const question = visibleNamespaces('');
      t.same(namespacesAllowed(index, uniformSubject(eve), question, 'visible'), []);
      t.same(namespacesAllowed(index, uniformSubject(eve), question), ['bound']);
      t.equal(isAllowedIn(index, eve, question, 'bound', 'visible'), false);
      index.put({
        ...clusterRoleBinding('all', 'ClusterRole/viewer', [group(name)]),
        revision: nextRevision(),
      });
      t.same(namespacesAllowed(index, uniformSubject(eve), question, 'visible'), ['bound', 'free']);
      t.equal(isAllowedIn(index, eve, question, 'bound', 'visible'), true);
    }
  },
);
