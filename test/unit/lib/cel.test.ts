import t from 'tap';
import { compileExpression, ExpressionError, type Subject } from '../../../src/lib/cel.ts';

const CLAIMS = {
  sub: 'Carol',
  email: 'carol@acme.example',
  roles: ['dev', 'ops'],
  exp: 90_000,
  nbf: 3_600,
  nested: { flag: true },
  none: null,
};

function evaluate(source: string, claims: object = CLAIMS): unknown {
  return compileExpression(source, 'claims').evaluate(claims);
}

function refusal(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
  return 'none';
}

function refusedAtLoad(source: string, subject: Subject = 'claims'): string {
  return refusal(() => compileExpression(source, subject));
}

t.test('what Kubernetes’ own examples say is understood', async (t) => {
  for (const [source, value] of [
    ['claims.sub + ":external-user"', 'Carol:external-user'],
    ['claims.exp - claims.nbf <= 86400', true],
    ['claims.?email_verified.orValue(true) == true', true],
    ['claims.?nested.?flag.orValue(false)', true],
    ['has(claims.email) ? claims.email : ""', 'carol@acme.example'],
    ['claims.email.split("@")[1]', 'acme.example'],
    ['claims.roles.map(role, "r:" + role)', ['r:dev', 'r:ops']],
    ['claims.roles.filter(role, role.startsWith("d"))', ['dev']],
    ['claims.roles.exists_one(role, role == "ops") && claims.roles.all(role, role.endsWith("s"))', false],
    ['"dev" in claims.roles', true],
    ['claims.sub.matches("^C.*l$") && matches(claims.sub, "aro")', true],
    ['claims.sub.lowerAscii() + claims.sub.upperAscii()', 'carolCAROL'],
    ['[claims.sub, "x"].join("/")', 'Carol/x'],
    ['claims.sub.replace("Ca", "$&")', '$&rol'],
    ['claims["nested"].flag ? claims.sub.substring(0, 2) : claims.sub.charAt(0)', 'Ca'],
    ['"  x ".trim() + "a,b,c".split(",", 2)[1]', 'xb,c'],
  ] as const) {
    t.same(evaluate(source), value, source);
  }
});

t.test('a user is known by name, uid, groups and extra', async (t) => {
  const user = { username: 'carol', uid: '', groups: ['dev'], extra: { 'example.com/x': ['1'] } };
  const expression = compileExpression(
    "!user.username.startsWith('system:') && user.groups.all(g, !g.startsWith('system:')) && '1' in user.extra['example.com/x'] && user.uid == ''",
    'user',
  );
  t.equal(expression.type, 'bool');
  t.equal(expression.evaluate(user), true);
});

t.test('the type of what comes of it is known where it can be', async (t) => {
  t.equal(compileExpression('claims.sub == "x"', 'claims').type, 'bool');
  t.equal(compileExpression('claims.roles.split(",")', 'claims').type, 'list<string>');
  t.equal(compileExpression('claims.sub', 'claims').type, 'dyn');
  t.equal(compileExpression('user.groups', 'user').type, 'list<string>');
});

t.test('the claims it reads are known', async (t) => {
  const { claims } = compileExpression(
    'claims.a + claims["b"] + claims.?c.orValue("") + [1].map(x, claims[?"d"].value())[0]',
    'claims',
  );
  t.same([...claims], ['a', 'b', 'c', 'd']);
});

t.test('what is no expression, or not about this, is refused when it is compiled', async (t) => {
  for (const [source, message] of [
    ['claims.sub +', /^Unexpected token: EOF at character 13$/],
    ['user.username', /^Unknown variable: user/],
    ['claims.sub.reverse()', /^found no matching overload for 'dyn.reverse\(\)'/],
    ['1.lowerAscii()', /^found no matching overload for 'int.lowerAscii\(\)'/],
    ['1 + "a"', /^no such overload: int \+ string/],
    [`"${'a'.repeat(10_000)}"`, /^is longer than 10000 characters$/],
    [`${'('.repeat(400)}1${')'.repeat(400)}`, /depth/i],
  ] as const) {
    t.match(refusedAtLoad(source), message);
  }
  t.match(refusedAtLoad('user.name', 'user'), /^No such key: name/);
  t.match(refusedAtLoad('claims.sub', 'user'), /^Unknown variable: claims/);
});

t.test(
  'a claim that is not there, or of another type, ends in a refusal that repeats no value',
  async (t) => {
    for (const source of [
      'claims.missing',
      'claims.email + 1',
      'claims[claims.email]',
      'claims.email.map(x, x)',
      'bool(claims.email)',
      'duration(claims.email) > duration("1s")',
      'timestamp("2026-01-01T00:00:00Z").getHours(claims.email) == 1',
      'claims.roles[7]',
      'claims.email ? 1 : 2',
    ]) {
      const message = refusal(() => evaluate(source));
      t.not(message, 'none', source);
      t.notMatch(message, /carol/i);
    }
  },
);

t.test('names of every object are no claims', async (t) => {
  for (const source of ['claims.constructor', 'claims.__proto__', 'claims.nested.toString']) {
    t.match(
      refusal(() => evaluate(source)),
      /^no such key/,
    );
  }
  t.equal(evaluate('has(claims.constructor) || has(claims.__proto__)'), false);
});

t.test(
  'only ASCII letters change their case, within comprehensions too: no two names become one',
  async (t) => {
    const claims = { name: 'K\u212a\u0130\u00dc', names: ['\u212a'] };
    t.equal(evaluate('claims.name.lowerAscii()', claims), 'k\u212a\u0130\u00dc');
    t.equal(evaluate('claims.name.upperAscii()', { name: 'k\u00df\u0131' }), 'K\u00df\u0131');
    t.same(evaluate('claims.names.map(n, n.lowerAscii())', claims), ['\u212a']);
    t.equal(evaluate('claims.names.exists(n, n.lowerAscii() == "k")', claims), false);
    t.equal(evaluate('cel.bind(n, claims.name.lowerAscii(), n)', claims), 'k\u212a\u0130\u00dc');
    t.equal(evaluate('claims.name.trim()', { name: '\u0085x\ufeff' }), 'x\ufeff');
    t.equal(evaluate('claims.name.trim()', { name: ' \t\n x \u2003y\u3000 ' }), 'x \u2003y');
    t.equal(evaluate('claims.name.trim()', { name: '\u00a0 ' }), '');
  },
);

t.test('there is no place in an expression where a call of ours would be the package’s own', async (t) => {
  const call = 'claims.name.lowerAscii()';
  for (const source of [
    call,
    `(${call})`,
    `claims.?none.orValue(${call})`,
    `optional.none().or(optional.of(${call})).value()`,
    `has(claims.none) ? "" : ${call}`,
    `[${call}][0]`,
    `{"a": ${call}}.a`,
    `{${call}: ${call}}[${call}]`,
    `[1].map(x, ${call})[0]`,
    `[1].map(x, ${call} != "", ${call})[0]`,
    `[${call}].filter(x, x == ${call})[0]`,
    `cel.bind(x, ${call}, x)`,
    `cel.bind(x, 1, ${call})`,
    `[1].map(x, [1].map(y, ${call}))[0][0]`,
    `string(${call})`,
    `"" + ${call}`,
    `${call}.trim()`,
    `[1].exists(x, ${call} == "k") ? "k" : ${call}`,
    `!([1].all(x, ${call} != "k") && ${call} != "k" || false) ? "k" : ${call}`,
  ]) {
    t.equal(evaluate(source, { name: '\u212a' }), '\u212a', source);
  }
});

t.test('a pattern that would make a backtracking engine hang is answered', async (t) => {
  t.equal(evaluate('claims.name.matches("^(a+)+$")', { name: `${'a'.repeat(50_000)}!` }), false);
});

t.test('patterns are written out and are RE2’s', async (t) => {
  t.match(refusedAtLoad('claims.a.matches(claims.b)'), /written out/);
  t.match(refusedAtLoad('matches(claims.a, claims.b)'), /written out/);
  t.match(refusedAtLoad('claims.a.matches("(")'), /RE2/);
  t.match(refusedAtLoad('claims.a.matches("(?=a)")'), /RE2/);
  t.match(refusedAtLoad('[1].map(x, claims.a.matches("("))'), /RE2/);
});

t.test('two large numbers that would be read as one name nobody', async (t) => {
  const claims: object = JSON.parse('{"id": 9007199254740993, "other": 1e400, "few": [9007199254740991]}');
  for (const source of ['string(claims.id)', 'string(claims["other"])', 'claims.?id.orValue(0) == 0'])
    t.match(
      refusal(() => evaluate(source, claims)),
      /too large to be exact by the claim "(id|other)"/,
    );
  t.equal(evaluate('string(claims.few[0])', claims), '9007199254740991', 'other claims do not matter');
});

t.test('what would run for long is refused', async (t) => {
  t.match(
    refusedAtLoad('claims.a.all(x, claims.a.all(y, claims.a.all(z, true)))'),
    /more than 2 comprehensions/,
  );
  t.match(refusedAtLoad('bytes(claims.a).json()'), /no function of CEL/);
  const many = Array.from({ length: 1_001 }, String);
  t.match(
    refusal(() => evaluate('true', { many })),
    /more than 1000 members/,
  );
  t.match(
    refusal(() => evaluate('true', { deep: { many } })),
    /more than 1000 members/,
  );
  const nested: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  t.match(
    refusal(() => evaluate('true', { nested })),
    /deeper than 32 levels/,
  );
  t.match(
    refusal(() => evaluate('claims.a.split("").size()', { a: 'x'.repeat(1_001) })),
    /too many parts/,
  );
});

t.test('within two comprehensions lists are shorter, and texts are handled only so often', async (t) => {
  const groups = Array.from({ length: 250 }, (_, index) => `group-${index}`);
  const more = [...groups, 'one more'];
  const each = 'claims.groups.all(g, claims.groups.exists(h, g == h))';
  t.equal(evaluate(each, { groups }), true);
  t.equal(evaluate('claims.groups.all(g, g in claims.groups)', { groups: more }), true);
  t.match(
    refusal(() => evaluate(each, { groups: more })),
    /more than 250 members/,
  );
  t.match(
    refusal(() => evaluate(each, { groups, text: 'x'.repeat(2_001) })),
    /text of more than 2000 characters/,
  );
  t.equal(evaluate('claims.text.size() > 0', { text: 'x'.repeat(2_001) }), true);
  const parts = 'claims.groups.map(g, claims.text.split("").map(x, x)).size()';
  t.match(
    refusal(() => evaluate(parts, { groups: [''], text: 'x'.repeat(251) })),
    /too many parts/,
  );
  for (const worked of [
    'claims.groups.join(",").size()',
    'claims.text.split(",").size()',
    'claims.text.matches("^x")',
    'claims.text.trim()',
    'claims.text.lowerAscii()',
    'claims.text.upperAscii()',
    'claims.text.charAt(0)',
    'claims.text.replace("x", "xxx")',
  ])
    t.match(
      refusal(() =>
        evaluate(`claims.groups.map(g, claims.groups.map(h, ${worked}))`, { groups, text: 'x'.repeat(500) }),
      ),
      /too much text/,
      worked,
    );
  const text = 'x'.repeat(20_000);
  t.match(
    refusal(() => evaluate('claims.text.replace("x", claims.text)', { text })),
    /too much text/,
  );
  const expression = compileExpression('claims.text.trim().size()', 'claims');
  for (let time = 0; time < 60; time += 1) expression.evaluate({ text });
  t.equal(expression.evaluate({ text }), 20_000n, 'the next evaluation may do as much again');
});
