/** The part of rules that is within the scope of an access token. */
import t from 'tap';
import { scopedRules } from '../../../src/features/self-reviews/scoped-rules.ts';
import type { Question } from '../../../src/kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../../../src/kubernetes/kubernetes-object.ts';
import type { TokenScope } from '../../../src/kubernetes/token-scope.ts';
import { intersectionOf, ruleAllows } from '../../../src/rbac/rules.ts';
import { createScopeCut, outsideReason } from '../../../src/rbac/scoped-rules.ts';
import { createTenantNamespaces } from '../../../src/rbac/tenant-namespaces.ts';
import { accessIndexOf } from '../../support/access-index.ts';
import { namespace, question } from '../../support/rbac-objects.ts';
import { tokenScope } from '../../support/token-scope.ts';

const EVERYTHING = rule(['*'], ['*'], ['*']);

function rule(verbs: string[], apiGroups: string[], resources: string[], resourceNames?: string[]) {
  return { verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) };
}

function cut(scope: TokenScope, rules: readonly PolicyRule[], { namespace = 'web', left = 1_000_000 } = {}) {
  const budget = { left, isExceeded: false, isTooWide: false };
  const remaining = rules.flatMap(createScopeCut(scope, { namespace, tenant: '' }, budget));
  return { ...budget, remaining };
}

t.test(
  'the intersection of two rules handles wildcards, subresources of any resource, and names',
  async (t) => {
    const shared = (one: PolicyRule, other: PolicyRule) => {
      t.same(intersectionOf(one, other), intersectionOf(other, one), 'the order does not matter');
      return intersectionOf(one, other);
    };
    const pods = rule(['get', 'list'], [''], ['pods', 'pods/log']);
    t.same(shared(EVERYTHING, pods), pods);
    t.same(shared(rule(['get'], ['*'], ['*/log']), pods), rule(['get'], [''], ['pods/log']));
    t.equal(shared(rule(['get'], [''], ['*/log']), rule(['get'], [''], ['pods'])), undefined);
    t.equal(shared(pods, rule(['delete'], [''], ['pods'])), undefined);
    t.equal(shared(pods, rule(['get'], ['apps'], ['pods'])), undefined);
    const named = (...names: string[]) => rule(['get'], [''], ['pods'], names);
    t.same(shared(named('x', 'y'), pods), named('x', 'y'));
    t.same(shared(named('x', 'y'), named('y')), named('y'));
    t.equal(
      shared(named('x'), named('y')),
      undefined,
      'an intersection without names is empty and does not mean all names',
    );
    t.equal(shared({ verbs: ['get'], nonResourceURLs: ['/metrics'] }, EVERYTHING), undefined);
  },
);

t.test('rights that escalate are removed from rules, unless the scope has the word for them', async (t) => {
  const rules = [
    rule(['get'], [''], ['pods', 'secrets']),
    rule(['create'], ['*'], ['*/exec', 'serviceaccounts/token']),
    rule(['*'], ['rbac.authorization.k8s.io'], ['roles']),
  ];
  const { remaining, isTooWide } = cut(tokenScope('namespace/web/manage'), rules);
  const may = (rules: readonly PolicyRule[], verb: string, resource: string, apiGroup = '') =>
    rules.some((one) => ruleAllows(one, question(verb, resource, 'web', { apiGroup })));
  t.ok(may(remaining, 'get', 'pods'));
  t.ok(may(remaining, 'list', 'roles', 'rbac.authorization.k8s.io'));
  for (const [verb, resource, apiGroup] of [
    ['get', 'secrets', ''],
    ['create', 'pods/exec', ''],
    ['create', 'serviceaccounts/token', ''],
    ['create', 'roles', 'rbac.authorization.k8s.io'],
    ['bind', 'roles', 'rbac.authorization.k8s.io'],
  ] as const)
    t.notOk(may(remaining, verb, resource, apiGroup), `${verb} ${resource}`);
  t.ok(isTooWide, 'for the verb *, only known verbs of roles are listed');
  t.ok(may(cut(tokenScope('namespace/web/manage +secrets'), rules).remaining, 'get', 'secrets'));
  t.ok(may(cut(tokenScope('namespace/web/manage +exec'), rules).remaining, 'create', 'pods/exec'));
});

t.test('a wildcard that covers more than the scope is replaced by the known kinds', async (t) => {
  const { remaining, isTooWide } = cut(tokenScope('read'), [EVERYTHING]);
  t.ok(isTooWide);
  const kinds = new Set(remaining.flatMap(({ resources = [] }) => resources));
  for (const kind of ['pods', 'pods/log', 'deployments']) t.ok(kinds.has(kind), kind);
  for (const kind of ['*', 'secrets', 'pods/exec']) t.notOk(kinds.has(kind), kind);
  t.same(
    new Set(remaining.flatMap(({ verbs }) => verbs.filter((verb) => verb !== 'create'))),
    new Set(['get', 'list', 'watch']),
  );
  const session = cut(tokenScope('session +secrets +exec +rbac +impersonate +tokens'), [EVERYTHING]);
  t.notOk(session.isTooWide, 'with a scope for everything, the wildcard stays');
  t.ok(session.remaining.some(({ resources = [] }) => resources.includes('*')));
});

t.test('a name that looks like a wildcard widens nothing', async (t) => {
  const scope = tokenScope('namespace/web/read +secrets');
  const { remaining } = cut(scope, [rule(['get'], [''], ['secrets'], ['*'])]);
  t.notOk(remaining.some((one) => ruleAllows(one, question('get', 'secrets', 'web', { name: 'x' }))));
});

t.test('beyond its budget, the result is incomplete and says so', async (t) => {
  const scope = tokenScope('namespace/web/edit +secrets');
  const rules = [rule(['get'], [''], ['pods']), rule(['get'], [''], ['secrets', 'pods'])];
  t.same(cut(scope, rules, { left: 5 }), { left: 5, isExceeded: true, isTooWide: false, remaining: [] });
  const some = cut(scope, rules, { left: 700 });
  t.equal(some.isExceeded, true);
  t.notOk(some.remaining.length === 0);
});

t.test('a grant that escalates costs the budget once', async (t) => {
  const names = Array.from({ length: 100 }, (_, at) => `secret${at}`);
  const rules = [rule(['get'], [''], ['secrets'], names)];
  const { isExceeded, remaining } = cut(tokenScope('namespace/web/edit +secrets'), rules, { left: 80_000 });
  t.equal(isExceeded, false);
  t.equal(remaining.length, 100);
});

t.test(
  'without a current index a refusal says why the scope of the whole tenant covers nothing',
  async (t) => {
    const site = accessIndexOf(namespace('web'));
    const scopeFor = createTenantNamespaces(site.access);
    const reason = () =>
      outsideReason(tokenScope('read', [], scopeFor('acme')), question('get', 'pods', 'web'));
    t.equal(reason(), undefined);
    site.becomeStale();
    t.match(reason(), /covers nothing while there is no current RBAC index \(access\.index\)$/);
  },
);

t.test('the scope of the whole tenant deletes namespaces one by one, and not all of one name', async (t) => {
  const scopeFor = createTenantNamespaces(accessIndexOf(namespace('web')).access);
  const scope = tokenScope('tenant/manage +rbac', [], scopeFor('acme'));
  const reason = (verb: string) => outsideReason(scope, question(verb, 'namespaces', '', { name: 'web' }));
  t.equal(reason('delete'), undefined);
  t.match(reason('deletecollection'), /does not allow it/);
});

const many = (length: number, prefix: string) => Array.from({ length }, (_, at) => `${prefix}${at}`);
const WIDE = { verbs: many(64, 'v'), apiGroups: many(64, 'g'), resources: many(64, 'r'), namespaces: ['*'] };

for (const [what, scope, rules] of [
  [
    'very many rules that escalate nothing within a wide scope',
    tokenScope('', [WIDE, WIDE, WIDE, WIDE]),
    Array.from({ length: 20_000 }, () => rule(['*'], ['*'], ['*'])),
  ],
  [
    'one rule that stands for a billion grants that escalate',
    tokenScope('tenant/manage +exec'),
    [rule(many(1_000, 'v'), many(1_000, 'g'), [...many(1_000, 'r'), 'pods/exec', 'secrets'])],
  ],
  [
    'a scope given very often',
    tokenScope(Array(64).fill('namespace/web/control').join(' ')),
    Array.from({ length: 1_000 }, () => rule(['*'], ['*'], ['*'])),
  ],
] as const)
  t.test(`${what}: all that is compared, asked and written is counted`, async (t) => {
    const left = 200_000;
    let [compared, asked] = [0, 0];
    const counted = {
      ...scope,
      allows(question: Question) {
        asked += 1;
        return scope.allows(question);
      },
    };
    const counting = rules.map((each) => ({
      ...each,
      get apiGroups() {
        compared += 1;
        return each.apiGroups ?? [];
      },
    }));
    const { isExceeded, remaining } = cut(counted, counting, { left });
    t.ok(isExceeded);
    t.ok(asked * 512 <= left, `${asked} questions`);
    t.ok(compared <= 4 * rules.length + left / 8, `${compared} comparisons`);
    t.ok(JSON.stringify(remaining).length <= left);
  });

t.test('verbs and paths that are judged are counted too', async (t) => {
  let asked = 0;
  const scope = {
    ...tokenScope('session'),
    allows() {
      asked += 1;
      return true;
    },
  };
  const rule = { verbs: many(100, 'v'), nonResourceURLs: many(100, '/p') };
  const status = { resourceRules: [], nonResourceRules: Array(100).fill(rule), incomplete: false };
  const { incomplete, evaluationError } = scopedRules(status, scope, { namespace: 'web', tenant: '' });
  t.ok(incomplete && asked < 100_000, `${asked} of a million questions`);
  t.match(evaluationError, /more than one review holds/);
});

t.test('a request with wildcards is within the scope only if everything they cover is', async (t) => {
  const outside = (scopes: string, verb: string, resource: string, apiGroup = '') =>
    outsideReason(tokenScope(scopes), question(verb, resource, 'web', { apiGroup }));
  t.equal(outside('read', 'get', 'pods'), undefined);
  t.match(outside('read', '*', 'pods'), /abcd1234 does not allow it: its scopes are read/);
  t.match(outside('read', 'get', '*', '*'), /its scopes are read/, 'the wildcard covers secrets');
  t.equal(outside('read +secrets +exec +tokens', 'get', '*', '*'), undefined);
  t.match(outside('namespace/shop/read', 'get', 'pods'), /shop/);
  t.equal(outsideReason(undefined, question('*', '*')), undefined, 'no other credential has a scope');
  t.match(outsideReason(tokenScope('read'), { verb: 'get', path: '/logs/x' }), /its scopes are read/);
});
