/** Roles with very many rules, which a tenant may write and bind all users to. */
import fc from 'fast-check';
import t from 'tap';
import type { PolicyRule } from '../../../src/api/kubernetes-object.ts';
import type { StoredBinding } from '../../../src/api/rbac-v1.ts';
import { allows, decide } from '../../../src/rbac/decide.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { roleAllows } from '../../../src/rbac/role-allows.ts';
import { ruleAllows } from '../../../src/rbac/rules.ts';
import { whoCan } from '../../../src/rbac/who-can.ts';
import { group, rbacUser, role, roleBinding } from '../../support/rbac-objects.ts';

const RULES = 1_000;
const QUESTION = {
  verb: 'get',
  apiGroup: '',
  resource: 'namespaces',
  subresource: '',
  namespace: 'a',
  name: 'a',
  tenant: '',
};

/** A role of very many rules, and how often they were looked at. */
function counting() {
  let looked = 0;
  const rule: PolicyRule = {
    apiGroups: [''],
    resources: ['pods'],
    get verbs() {
      looked += 1;
      return ['get'];
    },
  };
  return { large: role('a', 'large', Array<PolicyRule>(RULES).fill(rule)), looked: () => looked };
}

function bindings(count: number): StoredBinding[] {
  return Array.from({ length: count }, (_, at) =>
    roleBinding('a', `b${at}`, 'Role/large', [group('system:authenticated')]),
  );
}

for (const [count, groups] of [
  [20, 1],
  [20, 100],
  [1_000, 100],
] as const)
  t.test(`${count} bindings of a large role, users with ${groups} groups`, async (t) => {
    const { large, looked } = counting();
    const index = new RBACIndex();
    for (const object of [large, ...bindings(count)]) index.put(object);
    const others = Array.from({ length: groups }, (_, at) => `g${at}`);
    const before = looked();
    for (let at = 0; at < 100; at += 1) {
      const user = rbacUser(`u${at}`, ['system:authenticated', ...others]);
      t.equal(allows(index, user, QUESTION), false);
    }
    t.ok(looked() - before <= 4 * RULES, `${looked() - before} for 100 users`);
  });

t.test('who can get any namespace looks at a role once for a namespace', async (t) => {
  const { large, looked } = counting();
  const index = new RBACIndex();
  for (const object of [large, ...bindings(100)]) index.put(object);
  const before = looked();
  const { grants } = whoCan(index.objectsOf(''), { ...QUESTION, name: '' }, { namespace: 'a' });
  t.strictSame(grants, []);
  t.ok(looked() - before <= 4 * RULES, `${looked() - before} for 100 bindings`);
});

t.test('a change of a large role counts at once', async (t) => {
  const index = new RBACIndex();
  const rules = Array.from({ length: 100 }, (): PolicyRule => ({ verbs: ['list'], resources: ['pods'] }));
  for (const object of [role('a', 'large', rules), ...bindings(3)]) index.put(object);
  const user = rbacUser('u', ['system:authenticated']);
  t.equal(allows(index, user, QUESTION), false);
  const granting: PolicyRule = {
    verbs: ['get'],
    apiGroups: [''],
    resources: ['namespaces'],
    resourceNames: ['a'],
  };
  index.put(role('a', 'large', [...rules, granting]));
  t.equal(allows(index, user, QUESTION), true);
  t.equal(decide(index, user, QUESTION).decision, 'allow');
  t.equal(allows(index, user, { ...QUESTION, name: 'b' }), false);
  index.put(role('a', 'large', rules));
  t.equal(allows(index, user, QUESTION), false);
});

const word = (...words: string[]) => fc.constantFrom(...words);
const words = (...each: string[]) => fc.array(word(...each), { maxLength: 2 });
const anyRule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: words('get', 'list', '*'),
  apiGroups: words('', 'apps', '*'),
  resources: words('pods', 'pods/log', '*/log', '*', 'nodes'),
  resourceNames: words('x', 'y', ''),
});
const anyQuestion = fc.record({
  verb: word('get', 'list'),
  apiGroup: word('', 'apps'),
  resource: word('pods', 'nodes'),
  subresource: word('', 'log'),
  namespace: word('a'),
  name: word('', 'x', 'y', 'z'),
  tenant: word(''),
});

t.test('a large role allows what one of its rules allows', async () => {
  fc.assert(
    fc.property(
      fc.array(anyRule, { maxLength: 4 }),
      fc.array(anyQuestion, { minLength: 1, maxLength: 8 }),
      (rules, questions) => {
        const filling = Array.from({ length: 70 }, (): PolicyRule => ({ verbs: [] }));
        const large = role('a', 'large', [...filling, ...rules]);
        return questions.every(
          (question) =>
            roleAllows(large, question) === rules.some((candidate) => ruleAllows(candidate, question)),
        );
      },
    ),
    { numRuns: 1_000 },
  );
});
