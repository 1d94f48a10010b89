/** The cost of an enumeration: a role is evaluated once, however many bindings refer to it. */
import t from 'tap';
import type { PolicyRule } from '../../../src/api/kubernetes-object.ts';
import type { RBACUser } from '../../../src/rbac/attributes.ts';
import { namespacesAllowed, visibleNamespaces } from '../../../src/rbac/enumerate.ts';
import {
  clusterRole,
  group,
  indexOf,
  namespace,
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
