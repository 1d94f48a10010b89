/**
 * The scopes of access tokens, for any scopes and any access question: several scopes allow the union of what
 * each allows, they only narrow the rights of the owner, and rights that escalate need their own word
 * (`+secrets`).
 */
import fc from 'fast-check';
import t from 'tap';
import {
  createTokenScope,
  readScope,
  type ScopeSpec,
  scopeProblem,
} from '../../src/features/tokens/scope.ts';
import type { Question, ResourceQuestion } from '../../src/kubernetes/authorizer-attributes.ts';
import { ESCALATION_WORDS, escalationOf } from '../../src/rbac/escalating.ts';

const HOME = 'acme';
const LEVELS = ['read', 'control', 'edit', 'manage'];
const VERBS = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['bind', 'impersonate', 'approve'],
];
const GROUPS = ['', 'apps', 'rbac.authorization.k8s.io', 'stonegate.dev', 'certificates.k8s.io'];
const RESOURCES = [
  ...['pods', 'secrets', 'roles', 'serviceaccounts', 'accesstokens', 'namespaces', 'widgets'],
  'signers',
];
const NAMESPACES = ['web', 'lab'];

const level = fc.constantFrom(...LEVELS);
const grantingScope = fc.oneof(
  fc.constantFrom('userinfo', 'read', 'session'),
  level.map((one) => `tenant/${one}`),
  fc.tuple(fc.constantFrom(...NAMESPACES), level).map(([namespace, one]) => `namespace/${namespace}/${one}`),
);
const words = fc.subarray(ESCALATION_WORDS.map((word) => `+${word}`));
const some = (texts: readonly string[]) => fc.subarray([...texts], { minLength: 1 });
const rule = fc.record(
  {
    verbs: some([...VERBS, '*']),
    apiGroups: some([...GROUPS, '*']),
    resources: some([...RESOURCES, '*', 'pods/exec', '*/token', 'secrets/*']),
    namespaces: some([...NAMESPACES, '*']),
    resourceNames: some(['one', 'two']),
  },
  { requiredKeys: ['verbs', 'apiGroups', 'resources', 'namespaces'] },
);
const spec = fc.record({
  scopes: fc.tuple(fc.array(grantingScope, { maxLength: 3 }), words).map((parts) => parts.flat()),
  rules: fc.array(rule, { maxLength: 2 }),
}) satisfies fc.Arbitrary<ScopeSpec>;

const resourceQuestion: fc.Arbitrary<ResourceQuestion> = fc.record({
  verb: fc.constantFrom(...VERBS),
  apiGroup: fc.constantFrom(...GROUPS),
  resource: fc.constantFrom(...RESOURCES),
  subresource: fc.constantFrom('', '', '', 'exec', 'token', 'status'),
  namespace: fc.constantFrom('', ...NAMESPACES, 'other'),
  name: fc.constantFrom('', 'one'),
  tenant: fc.constantFrom(HOME, HOME, HOME, 'globex'),
});
const question: fc.Arbitrary<Question> = fc.oneof(
  { weight: 6, arbitrary: resourceQuestion },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constantFrom('get', 'post'),
      path: fc.constantFrom('/api', '/metrics', '/logs/a', '/version', '/custom'),
    }),
  },
);

const allows = (scope: ScopeSpec, asked: Question) => createTokenScope('t', scope, HOME).allows(asked);
const RUNS = { numRuns: 2_000 };

t.test('D413 what escalates needs its word, whatever the other scopes and rules cover', async () => {
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] };
  fc.assert(
    fc.property(spec, resourceQuestion, ({ scopes, rules }, asked) => {
      const word = escalationOf(asked);
      const isGiven = word === undefined || scopes.includes(`+${word}`);
      const given = { scopes: scopes.filter((scope) => scope.startsWith('+')), rules: [everything] };
      const isCovered = allows(given, { ...asked, tenant: HOME });
      return isCovered === isGiven && (isGiven || !allows({ scopes, rules }, asked));
    }),
    RUNS,
  );
});

t.test('the scopes of a token together allow exactly what at least one of them allows', async () => {
  fc.assert(
    fc.property(spec, question, ({ scopes, rules }, asked) => {
      const given = scopes.filter((scope) => !scope.startsWith('+'));
      const withWords = scopes.filter((scope) => scope.startsWith('+'));
      const alone = [
        ...given.map((scope) => ({ scopes: [scope, ...withWords] })),
        ...rules.map((one) => ({ scopes: withWords, rules: [one] })),
        { scopes: withWords },
      ];
      return allows({ scopes, rules }, asked) === alone.some((one) => allows(one, asked));
    }),
    RUNS,
  );
});

t.test('a word adds only the escalating rights that it stands for', async () => {
  fc.assert(
    fc.property(
      spec,
      fc.constantFrom(...ESCALATION_WORDS),
      resourceQuestion,
      ({ scopes, rules }, word, asked) => {
        const without = allows({ scopes: scopes.filter((scope) => scope !== `+${word}`), rules }, asked);
        const withWord = allows({ scopes: [...scopes, `+${word}`], rules }, asked);
        return withWord === without || (withWord && escalationOf(asked) === word);
      },
    ),
    RUNS,
  );
});

t.test('a level includes the levels below it, and the session scope includes all levels', async () => {
  const places = ['tenant', ...NAMESPACES.map((namespace) => `namespace/${namespace}`)];
  fc.assert(
    fc.property(fc.constantFrom(...places), fc.nat({ max: 3 }), words, question, (place, at, word, asked) => {
      const [lower, higher] = [`${place}/${LEVELS[at]}`, LEVELS[at + 1]];
      const above = higher === undefined ? 'session' : `${place}/${higher}`;
      return !allows({ scopes: [lower, ...word] }, asked) || allows({ scopes: [above, ...word] }, asked);
    }),
    RUNS,
  );
});

t.test(
  'a scope of one namespace allows nothing in another one, and a read scope allows no writes',
  async (t) => {
    fc.assert(
      fc.property(level, words, resourceQuestion, (one, word, asked) => {
        const inWeb = allows({ scopes: [`namespace/web/${one}`, ...word] }, asked);
        const always = allows({ scopes: ['userinfo', ...word] }, asked);
        const isItself = asked.resource === 'namespaces' && asked.name === 'web';
        return !inWeb || always || ((asked.namespace === 'web' || isItself) && asked.tenant === HOME);
      }),
      RUNS,
    );
    for (const path of ['/metrics', '/custom', '/logs/a'])
      t.notOk(allows({ scopes: ['namespace/web/manage'] }, { verb: 'get', path }), path);
    fc.assert(
      fc.property(words, resourceQuestion, (word, asked) => {
        const reads = ['get', 'list', 'watch'].includes(asked.verb);
        const always = allows({ scopes: ['userinfo', ...word] }, asked);
        return reads || always || !allows({ scopes: ['read', ...word] }, asked);
      }),
      RUNS,
    );
  },
);

t.test('a scope that allows a request in one namespace allows it somewhere', async () => {
  fc.assert(
    fc.property(spec, resourceQuestion, (scope, asked) => {
      const everywhere = { ...asked, namespace: '' };
      return !allows(scope, asked) || createTokenScope('t', scope, HOME).allowsSomewhere(everywhere);
    }),
    RUNS,
  );
});

t.test('text that is not a valid scope makes the token unusable, and allows nothing by itself', async () => {
  const parts = ['namespace', 'tenant', 'web', 'manage', 'session', '*', 'Read', '', '+rbac', '%2a', ' '];
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom(...parts), { maxLength: 4 }).map((some) => some.join('/')),
  );
  const FORM =
    /^(userinfo|read|session|\+(secrets|exec|rbac|impersonate|tokens)|(tenant|namespace\/[a-z0-9-]{1,63})\/(read|control|edit|manage))$/;
  fc.assert(
    fc.property(spec, text, question, ({ scopes, rules }, unknown, asked) => {
      if (readScope(unknown) !== undefined) return FORM.test(unknown);
      const widened = { scopes: [...scopes, unknown], rules };
      return (
        scopeProblem(widened) !== undefined && allows(widened, asked) === allows({ scopes, rules }, asked)
      );
    }),
    RUNS,
  );
});
