/**
 * Whatever Stonegate itself reports about the rights of an access token is what its owner may do and its
 * scope allows.
 */
import fc from 'fast-check';
import t from 'tap';
import { compileAccessRules } from '../../src/features/access-rules/access-rules.ts';
import { scopedRules } from '../../src/features/self-reviews/scoped-rules.ts';
import type { ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';
import type { StoredNamespace } from '../../src/kubernetes/rbac-v1.ts';
import { type SubjectByNamespace, subjectIn } from '../../src/rbac/attributes.ts';
import { allows, grantsOf } from '../../src/rbac/decide.ts';
import { isAllowedIn, type NamespacesQuestion, namespacesAllowed } from '../../src/rbac/enumerate.ts';
import type { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { ruleAllows } from '../../src/rbac/rules.ts';
import { rulesAllow } from '../support/evaluate-rules.ts';
import { questions, rbacObjects, scopes, subjects, withScope } from '../support/random-rbac.ts';
import { indexOf } from '../support/rbac-objects.ts';

interface Token {
  readonly index: RBACIndex;
  readonly subject: SubjectByNamespace;
  /** Whether the owner may do it and the scope allows it. */
  readonly may: (question: ResourceQuestion) => boolean;
}

function everyToken(check: (token: Token, asked: readonly ResourceQuestion[]) => void) {
  fc.assert(
    fc.property(
      rbacObjects,
      subjects,
      scopes,
      fc.array(questions, { minLength: 20, maxLength: 60 }),
      (objects, owner, scope, asked) => {
        const index = indexOf(...objects);
        const may = (question: ResourceQuestion) =>
          scope.allows(question) && allows(index, subjectIn(owner, question.namespace), question);
        check({ index, subject: withScope(owner, scope), may }, asked);
      },
    ),
    { numRuns: 200 },
  );
}

function require(isTrue: boolean, question: object, said: unknown): void {
  if (!isTrue) throw new Error(`${JSON.stringify(question)}: ${JSON.stringify(said)}`);
}

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
    everyToken(({ index, subject, may }, asked) => {
      const existing: readonly StoredNamespace[] = [...index.objectsOf('').namespaces.values()];
      for (const { namespace: _, name, ...rest } of asked) {
        const question: NamespacesQuestion = { ...rest, name: name === '' ? '' : 'namespace' };
        const found = namespacesAllowed(index, subject, question);
        for (const { name: place } of existing) {
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
  'access rules allow a token no more than owner and scope, and exactly that unless a wildcard is too wide',
  async () => {
    everyToken(({ index, subject, may }, asked) => {
      const all = compileAccessRules(index, subject, { verb: '*' });
      for (const question of asked) {
        const { verb, apiGroup, resource, subresource, namespace } = question;
        const kind = subresource === '' ? resource : `${resource}/${subresource}`;
        const place = namespace !== '' && { namespace };
        const narrowed = compileAccessRules(index, subject, { verb, apiGroup, resource: kind, ...place });
        require(!narrowed.isTooWide, question, narrowed);
        const expected = may(question);
        require(rulesAllow(narrowed.rules, question) === expected, question, narrowed);
        const said = rulesAllow(all.rules, question);
        require(said === expected || (expected && all.isTooWide), question, all);
      }
    });
  },
);

t.test(
  'a self review allows a token no more than owner and scope, and exactly that unless it is incomplete',
  async () => {
    everyToken(({ index, subject, may }, asked) => {
      for (const question of asked) {
        const { namespace, tenant } = question;
        const { scope, ...owner } = subjectIn(subject, namespace);
        if (scope === undefined || owner.groups.includes('system:masters')) return;
        const granted = [...grantsOf(index.objectsOf(''), owner, namespace, new Set())];
        const rules = granted.flatMap(({ role }) => role.rules.map((rule) => ({ resources: [], ...rule })));
        const status = { resourceRules: rules, nonResourceRules: [], incomplete: false };
        const { resourceRules, incomplete } = scopedRules(status, scope, { namespace, tenant });
        const said = resourceRules.some((rule) => ruleAllows(rule, question));
        const expected = may(question);
        require(said === expected || (expected && incomplete), question, resourceRules);
      }
    });
  },
);
