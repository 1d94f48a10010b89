/** The values of expressions are compared with kube-apiserver's in test/conformance/authentication. */
import t from 'tap';
import { compileClaimsExpression, compileUserExpression, ExpressionError } from '../../../src/cel/cel.ts';

const CLAIMS = { sub: 'Carol', email: 'carol@acme.example', roles: ['dev', 'ops'], nested: { flag: true } };

function evaluate(source: string, claims: object = CLAIMS): unknown {
  return compileClaimsExpression(source).evaluate(claims);
}

function refusal(attempt: () => unknown) {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
  return 'none';
}

t.test('a user expression reads name, uid, groups and extra', async (t) => {
  const user = { username: 'carol', uid: '', groups: ['dev'], extra: { 'example.com/x': ['1'] } };
  const expression = compileUserExpression(
    "!user.username.startsWith('system:') && user.groups.all(g, !g.startsWith('system:')) && '1' in user.extra['example.com/x'] && user.uid == ''",
  );
  t.equal(expression.type, 'bool');
  t.equal(expression.evaluate(user), true);
  t.match(
    refusal(() => compileUserExpression('user.name')),
    /^undefined field 'name'/,
  );
  t.match(
    refusal(() => compileUserExpression('claims.sub')),
    /^undeclared reference to 'claims'/,
  );
});

t.test('the type of an expression is known at compile time unless it depends on a claim', async (t) => {
  t.equal(compileClaimsExpression('claims.sub == "x"').type, 'bool');
  t.equal(compileClaimsExpression('claims.roles.split(",")').type, 'list(string)');
  t.equal(compileClaimsExpression('claims.sub').type, 'any');
});

t.test('the claims that an expression reads are known', async (t) => {
  const source = 'claims.a + claims["b"] + claims.?c.orValue("") + [1].map(x, claims[?"d"].value())[0]';
  const { claims, selects } = compileClaimsExpression(source);
  t.same([...claims].sort(), ['a', 'b', 'c', 'd']);
  t.same(['a', 'b', 'c', 'd'].filter(selects), ['a', 'c'], 'as fields');
});

t.test('an error message contains nothing of the token', async (t) => {
  for (const source of [
    'claims.missing',
    'claims.email + 1',
    'claims[claims.email]',
    'bool(claims.email)',
    'duration(claims.email) > duration("1s")',
    'timestamp("2026-01-01T00:00:00Z").getHours(claims.email) == 1',
    'claims.sub.matches(claims.email + "(")',
  ]) {
    const message = refusal(() => evaluate(source));
    t.not(message, 'none', source);
    t.notMatch(message, /carol/i);
  }
});

t.test('members of the object prototype are not claims', async (t) => {
  for (const source of ['claims.constructor', 'claims.__proto__', 'claims.nested.toString'])
    t.match(
      refusal(() => evaluate(source)),
      /^no such key/,
    );
  t.equal(evaluate('has(claims.constructor) || has(claims.__proto__)'), false);
});

t.test('only ASCII letters change case, so two different names do not become equal', async (t) => {
  const claims = { name: 'K\u212a\u0130\u00dc' };
  t.equal(evaluate('claims.name.lowerAscii()', claims), 'k\u212a\u0130\u00dc');
  t.equal(evaluate('claims.name.upperAscii()', { name: 'k\u00df\u0131' }), 'K\u00df\u0131');
  t.equal(evaluate('claims.name.trim()', { name: '\u0085x\ufeff' }), 'x\ufeff');
});

t.test('matching a pattern takes linear time', async (t) =>
  t.equal(evaluate('claims.name.matches("^(a+)+$")', { name: `${'a'.repeat(5_000)}!` }), false),
);

t.test('an evaluation may cost no more than kube-apiserver allows', async (t) => {
  const many = Array.from({ length: 400 }, (_, index) => `group-${index}`);
  const twice = 'dyn(claims.many).all(x, dyn(claims.many).exists(y, x == y))';
  t.equal(evaluate(twice, { many: many.slice(0, 100) }), true);
  const thrice = 'dyn(claims.many).all(x, dyn(claims.many).all(y, dyn(claims.many).all(z, x + y != z)))';
  t.match(
    refusal(() => evaluate(thrice, { many })),
    /costs more than kube-apiserver allows/,
  );
  const text = 'x'.repeat(20_000);
  t.match(
    refusal(() => evaluate('claims.text.replace("x", claims.text)', { text })),
    /costs more/,
    'the size of the resulting text counts',
  );
  t.match(
    refusal(() => evaluate('lists.range(2000000)[0] == 0')),
    /costs more/,
  );
});

t.test('a deeply nested claim is an error where it is compared', async (t) => {
  const claims: object = JSON.parse(`{"deep":${'['.repeat(9_999)}${']'.repeat(9_999)},"sub":"Carol"}`);
  t.match(
    refusal(() => evaluate('claims.deep == claims.deep', claims)),
    /nested too deeply/,
  );
  t.equal(evaluate('claims.sub', claims), 'Carol');
});

t.test('a number outside the range of Go is an error', async (t) => {
  const claims: object = JSON.parse('{"other": 1e400, "few": [1]}');
  t.match(
    refusal(() => evaluate('string(claims.other)', claims)),
    /out of range/,
  );
  t.equal(evaluate('string(claims.few[0])', claims), '1');
});

t.test('long lists are mapped and filtered', async (t) => {
  const many = Array.from({ length: 5_000 }, (_, index) => `g${index}`);
  t.equal(evaluate('string(size(dyn(claims.many).map(g, "x:" + g)))', { many }), '5000');
  t.equal(evaluate('dyn(claims.many).map(g, g != "g0", "x:" + g)[0]', { many }), 'x:g1');
  t.equal(evaluate('string(size(dyn(claims.many).filter(g, g == "g7")))', { many }), '1');
  t.match(
    refusal(() => evaluate('dyn(claims.many).map(g, g + 1)', { many: ['a'] })),
    /overload/,
  );
});
