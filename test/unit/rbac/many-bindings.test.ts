/** Decisions in a namespace in which one group has very many bindings. */
import t from 'tap';
import type { PolicyRule } from '../../../src/api/kubernetes-object.ts';
import { allows, decide } from '../../../src/rbac/decide.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { group, nextRevision, rbacUser, role, roleBinding } from '../../support/rbac-objects.ts';

const BINDINGS = 1_000;
const USERS = 100;
const QUESTION = {
  verb: 'get',
  apiGroup: '',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: '',
  tenant: '',
};
const OTHER: PolicyRule = { verbs: ['list'], apiGroups: [''], resources: ['pods'] };
const GET: PolicyRule = { ...OTHER, verbs: ['get'] };

function setUp() {
  const index = new RBACIndex();
  let evaluated = 0;
  const counted: PolicyRule = {
    ...OTHER,
    get verbs() {
      evaluated += 1;
      return ['list'];
    },
  };
  for (let at = 0; at < BINDINGS; at += 1) {
    index.put(role('a', `r${at}`, [counted]));
    index.put(roleBinding('a', `b${at}`, `Role/r${at}`, [group('system:authenticated')]));
  }
  const users = Array.from({ length: USERS }, (_, at) =>
    rbacUser(`u${at}`, ['system:authenticated', 'staff']),
  );
  return { index, users, evaluated: () => evaluated };
}

t.test('the bindings of a group are looked at once for all of its users', async (t) => {
  const { index, users, evaluated } = setUp();
  const before = evaluated();
  for (const user of users) t.equal(allows(index, user, QUESTION), false);
  // A rule is counted, and may be asked for `*` and for the verb.
  t.ok(evaluated() - before <= 3 * BINDINGS, `${evaluated() - before} for ${USERS} users`);
});

t.test('a change of a role or a binding counts at once', async (t) => {
  const { index, users } = setUp();
  const [user] = users;
  if (user === undefined) throw new Error('no user');
  const agrees = () => {
    const allowed = allows(index, user, QUESTION);
    t.equal(decide(index, user, QUESTION).decision, allowed ? 'allow' : 'noOpinion');
    return allowed;
  };
  t.equal(agrees(), false);
  const granting = role('a', 'granting', [GET]);
  const binding = roleBinding('a', 'z', 'Role/granting', [group('system:authenticated')]);
  index.put(binding);
  t.equal(agrees(), false);
  index.put(granting);
  t.equal(agrees(), true);
  index.put({ ...granting, rules: [OTHER], revision: nextRevision() });
  t.equal(agrees(), false);
  index.put({ ...granting, revision: nextRevision() });
  t.equal(agrees(), true);
  t.equal(allows(index, user, { ...QUESTION, namespace: 'b' }), false, 'in that namespace alone');
  t.equal(allows(index, rbacUser('x', ['others', 'more']), QUESTION), false);
  index.delete({ ...binding, revision: nextRevision() });
  t.equal(agrees(), false);
});

t.test('rights to named objects are those of the names', async (t) => {
  const { index, users } = setUp();
  const [user] = users;
  if (user === undefined) throw new Error('no user');
  index.put(role('a', 'r7', [{ ...GET, resourceNames: ['x', 'y'] }]));
  for (const [name, allowed] of [
    ['x', true],
    ['y', true],
    ['z', false],
    ['', false],
  ] as const)
    t.equal(allows(index, user, { ...QUESTION, name }), allowed, name);
  t.equal(allows(index, user, { ...QUESTION, name: 'x', resource: 'secrets' }), false);
  t.equal(allows(index, user, { ...QUESTION, name: 'x', subresource: 'log' }), false);
});
