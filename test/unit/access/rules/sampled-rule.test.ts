/** What of an access rules document is compared with the API server. */
import fc from 'fast-check';
import t from 'tap';
import { compileAccessRules } from '../../../../src/access/rules/access-rules.ts';
import { sampledRule } from '../../../../src/access/rules/sampled-rule.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { allows } from '../../../../src/rbac/decide.ts';
import {
  clusterRole,
  clusterRoleBinding,
  indexOf,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const subject = uniformSubject(rbacUser('alice'));
const all = { verb: '*' };

t.test('a document without rules has nothing to compare', async (t) => {
  const index = indexOf(namespace('a'));
  const { rules } = compileAccessRules(index, subject, all);
  const drawn = sampledRule(index, subject, rules, all, ([first]) => first);
  t.equal(drawn, undefined);
});

t.test('whatever is drawn, the document says of it what the index decides', async () => {
  const index = indexOf(
    ...['a', 'b', 'c'].map((name) => namespace(name)),
    clusterRole('view', [
      { verbs: ['get', 'list'], apiGroups: ['', 'apps'], resources: ['pods', 'pods/log'] },
    ]),
    clusterRole('all', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*/scale'] }]),
    role('b', 'one', [
      { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['x', 'y'] },
    ]),
    roleBinding('a', 'x', 'ClusterRole/view', [user('alice')]),
    roleBinding('b', 'x', 'Role/one', [user('alice')]),
    clusterRoleBinding('x', 'ClusterRole/all', [user('alice')]),
  );
  const drawing = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 12, maxLength: 12 });
  for (const selection of [all, { verb: 'get' }]) {
    const { rules } = compileAccessRules(index, subject, selection);
    fc.assert(
      fc.property(drawing, (fractions) => {
        let at = 0;
        const drawn = sampledRule(index, subject, rules, selection, (values) => {
          const fraction = fractions[at++] ?? 0;
          return values[Math.floor(fraction * values.length)];
        });
        return drawn === undefined || drawn.allowed === allows(index, drawn.user, drawn.question);
      }),
    );
  }
});
