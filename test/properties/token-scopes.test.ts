/**
 * Whatever Stonegate itself reports about the rights of an access token is what its owner may do and its
 * scope allows, on an API server without tenants: `tenant/LEVEL` then depends on the labels of namespaces.
 */
import fc from 'fast-check';
import t from 'tap';
import { compileAccessRules } from '../../src/features/access-rules/access-rules.ts';
import { permittedNamespaces } from '../../src/features/all-namespaces/permitted-namespaces.ts';
import { scopedRules } from '../../src/features/self-reviews/scoped-rules.ts';
import { createTokenScope, type ScopeSpec } from '../../src/features/tokens/scope.ts';
import type { ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';
import { TENANT_KEY } from '../../src/kubernetes/reserved-names.ts';
import { type SubjectByNamespace, subjectIn } from '../../src/rbac/attributes.ts';
import { allows, grantsOf } from '../../src/rbac/decide.ts';
import { isAllowedIn, type NamespacesQuestion, namespacesAllowed } from '../../src/rbac/enumerate.ts';
import type { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { ruleAllows } from '../../src/rbac/rules.ts';
import { createTenantNamespaces } from '../../src/rbac/tenant-namespaces.ts';
import { rulesAllow } from '../support/evaluate-rules.ts';
import { questions, rbacObjects, rules, scopeSpecs, subjects, withScope } from '../support/random-rbac.ts';
import { clusterRole, clusterRoleBinding, group, indexOf, namespace } from '../support/rbac-objects.ts';

interface Token {
  readonly index: RBACIndex;
  readonly subject: SubjectByNamespace;
  readonly spec: ScopeSpec;
  readonly labels: Labels;
  /** Whether the owner may do it and the scope allows it. */
  readonly may: (question: ResourceQuestion) => boolean;
}

type Labels = Readonly<Record<string, string | undefined>>;

const EVERYBODY = 'system:authenticated';
const label = fc.constantFrom(undefined, 'acme', 'globex');
const site = fc
  .tuple(rbacObjects, fc.record({ a: label, b: label, c: label }), rules)
  .map(([objects, labels, ofEverybody]) => {
    const labelled = Object.entries(labels).map(([name, tenant]) =>
      namespace(name, tenant === undefined ? {} : { labels: { [TENANT_KEY]: tenant } }),
    );
    const others = objects.filter(({ resource }) => resource !== 'namespaces');
    const role = clusterRole('everybody', ofEverybody);
    const binding = clusterRoleBinding('everybody', 'ClusterRole/everybody', [group(EVERYBODY)]);
    return { index: indexOf(...labelled, ...others, role, binding), labels };
  });
const owners = subjects.map((subject) => {
  const known = <U extends { readonly groups: readonly string[] }>(user: U): U => ({
    ...user,
    groups: [...user.groups, EVERYBODY],
  });
  const { cluster, other, namespaces } = subject;
  const places = [...namespaces].map(([name, user]) => [name, known(user)] as const);
  return { cluster: known(cluster), other: known(other), namespaces: new Map(places) };
});

function everyToken(check: (token: Token, asked: readonly ResourceQuestion[]) => void) {
  fc.assert(
    fc.property(
      site,
      owners,
      scopeSpecs,
      fc.array(questions.map(asRequested), { minLength: 20, maxLength: 60 }),
      ({ index, labels }, owner, spec, asked) => {
        const scope = scopeOf(spec, index, 'current');
        const may = (question: ResourceQuestion) =>
          scope.allows(question) && allows(index, subjectIn(owner, question.namespace), question);
        check({ index, subject: withScope(owner, scope), spec, labels, may }, asked);
      },
    ),
    { numRuns: 200 },
  );
}

function scopeOf(spec: ScopeSpec, index: RBACIndex, state: 'current' | 'stale') {
  return createTokenScope('abcd1234', spec, createTenantNamespaces({ index, state: () => state })('acme'));
}

/** As the path of a request says it: one for a namespace itself is in that namespace, a list in none. */
function asRequested(question: ResourceQuestion): ResourceQuestion {
  const { verb, apiGroup, resource, name } = question;
  if (apiGroup !== '' || resource !== 'namespaces') return question;
  return verb === 'list' ? { ...question, namespace: '', name: '' } : { ...question, namespace: name };
}

function require(isTrue: boolean, question: object, said: unknown): void {
  if (!isTrue) throw new Error(`${JSON.stringify(question)}: ${JSON.stringify(said)}`);
}

const READ = ['get', 'list', 'watch'];
const isWord = (text: string) => text.startsWith('+');

t.test(
  "in shared mode a scope of the whole tenant covers namespaces without another tenant's label, and else only what everybody may read",
  async () => {
    everyToken(({ index, spec, labels }, asked) => {
      const isOfTenant = (text: string) => text === 'read' || /^tenant\//.test(text);
      const whole = spec.scopes.filter((text) => isOfTenant(text) || isWord(text));
      const wide = (spec.rules ?? []).filter(({ namespaces }) => namespaces.includes('*'));
      const ofTenant = { scopes: whole, rules: wide };
      const scope = scopeOf(ofTenant, index, 'current');
      const unlimited = createTokenScope('abcd1234', ofTenant, '');
      const always = createTokenScope('abcd1234', { scopes: ['userinfo', ...whole.filter(isWord)] }, '');
      const everybody = { tenant: '', username: 'any', groups: [EVERYBODY] };
      for (const question of asked) {
        const { namespace: place, verb } = question;
        const isOwn = place in labels && (labels[place] ?? 'acme') === 'acme';
        const isPublic = READ.includes(verb) && allows(index, everybody, { ...question, namespace: '' });
        const expected = unlimited.allows(question) && (isOwn || isPublic || always.allows(question));
        require(scope.allows(question) === expected, question, ofTenant);
        const unknown = scopeOf(ofTenant, index, 'stale');
        require(unknown.allows(question) === always.allows(question), question, 'without an index');
      }
    });
  },
);

t.test('a decision allows an access token only what both its owner and its scope allow', async () => {
  everyToken(({ index, subject, may }, asked) => {
    for (const question of asked) {
      const said = allows(index, subjectIn(subject, question.namespace), question);
      require(said === may(question), question, said);
    }
  });
});

t.test(
  'the namespaces of an access token are those in which both its owner and its scope allow the request',
  async () => {
    everyToken(({ index, subject, labels, may }, asked) => {
      for (const { namespace: _, name, ...rest } of asked) {
        const question: NamespacesQuestion = { ...rest, name: name === '' ? '' : 'namespace' };
        const found = namespacesAllowed(index, subject, question);
        for (const place of Object.keys(labels)) {
          const expected = may({ ...question, namespace: place, name: name === '' ? '' : place });
          require(found.includes(place) === expected, { ...question, place }, found);
          const one = isAllowedIn(index, subjectIn(subject, place), question, place, 'all');
          require(one === expected, { ...question, place }, one);
        }
      }
    });
  },
);

t.test(
  'a list of all namespaces is whole if the request is allowed, and else has the namespaces in which it is',
  async () => {
    everyToken(({ index, subject, labels, may }, asked) => {
      for (const { apiGroup, resource, tenant } of asked) {
        if (resource === 'namespaces') continue;
        const list = { verb: 'list', apiGroup, resource, subresource: '', name: '', tenant };
        const permitted = permittedNamespaces(index, subject, { apiGroup, resource, tenant });
        const isWhole = may({ ...list, namespace: '' });
        require((permitted === 'unfiltered') === isWhole, list, permitted);
        const names = typeof permitted === 'object' ? permitted.names : [];
        const expected = Object.keys(labels).filter((place) => may({ ...list, namespace: place }));
        require(isWhole || names.join() === expected.join(), list, permitted);
      }
    });
  },
);

t.test(
  'access rules allow a token no more than owner and scope, and exactly that unless a wildcard is too wide',
  async () => {
    everyToken(({ index, subject, may }, asked) => {
      const all = compileAccessRules(index, subject, { verb: '*' });
      for (const question of asked) {
        const { verb, apiGroup, resource, subresource, namespace: place } = question;
        const kind = subresource === '' ? resource : `${resource}/${subresource}`;
        const within = place !== '' && { namespace: place };
        const narrowed = compileAccessRules(index, subject, { verb, apiGroup, resource: kind, ...within });
        require(!narrowed.isTooWide, question, narrowed);
        const expected = may(question);
        require(rulesAllow(narrowed.rules, question) === expected, question, narrowed);
        const said = rulesAllow(all.rules, question);
        require(said === expected || (expected && all.isTooWide), question, all);
      }
    });
  },
);

t.test('the access rules of a userinfo token name no namespace', async () => {
  everyToken(({ index, subject }) => {
    const userinfo = scopeOf({ scopes: ['userinfo'] }, index, 'current');
    const { rules } = compileAccessRules(index, withScope(subject, userinfo), { verb: '*' });
    require(rules.namespaces.length === 0 && rules.otherNamespaces.length === 0, {}, rules);
  });
});

t.test(
  'a self review allows a token no more than owner and scope, and exactly that unless it is incomplete',
  async () => {
    everyToken(({ index, subject, may }, asked) => {
      for (const question of asked) {
        const { namespace: place, tenant } = question;
        const { scope, ...owner } = subjectIn(subject, place);
        if (scope === undefined || owner.groups.includes('system:masters')) return;
        const granted = [...grantsOf(index.objectsOf(''), owner, place, new Set())];
        const given = granted.flatMap(({ role }) => role.rules.map((rule) => ({ resources: [], ...rule })));
        const status = { resourceRules: given, nonResourceRules: [], incomplete: false };
        const { resourceRules, incomplete } = scopedRules(status, scope, { namespace: place, tenant });
        const said = resourceRules.some((rule) => ruleAllows(rule, question));
        const expected = may(question);
        require(said === expected || (expected && incomplete), question, resourceRules);
      }
    });
  },
);
