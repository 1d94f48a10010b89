import t from 'tap';
import type { JWTConfiguration } from '../../../../src/config/core-configuration.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { identityOfClaims } from '../../../../src/identity/jwt/jwt-mapping.ts';
import { jwtConfiguration } from '../../../support/oidc/jwt-configuration.ts';

function map(
  claims: Record<string, unknown>,
  mappings: Partial<JWTConfiguration['claimMappings']>,
  changes: Partial<JWTConfiguration> = {},
) {
  const claimMappings = { username: { expression: 'claims.sub' }, extra: [], ...mappings };
  return identityOfClaims({ claims, expiresAt: 1 }, jwtConfiguration({ claimMappings, ...changes }));
}

t.test('name, uid, groups and extra come from their expressions', async (t) => {
  const identity = map(
    { sub: 'Carol', oid: 'o-1', roles: 'dev,ops,', department: ['r', '', 'd'], nothing: '' },
    {
      username: { expression: 'claims.sub.lowerAscii() + ":external"' },
      uid: { expression: 'claims.oid' },
      groups: { expression: 'claims.roles.split(",")' },
      extra: [
        { key: 'example.com/department', valueExpression: 'claims.department' },
        { key: 'example.com/none', valueExpression: 'claims.nothing' },
        { key: 'example.com/claim', claim: 'sub' },
      ],
    },
  );
  t.match(identity, {
    subject: { kind: 'claim', name: 'carol:external' },
    uid: 'o-1',
    groups: ['dev', 'ops'],
  });
  t.same(identity.extra, { 'example.com/department': ['r', 'd'], 'example.com/claim': ['Carol'] });
});

t.test('the value of an expression is never converted', async (t) => {
  const expression = 'claims.value';
  for (const mappings of [
    { username: { expression } },
    { uid: { expression } },
    { groups: { expression } },
    { extra: [{ key: 'example.com/x', valueExpression: expression }] },
  ])
    for (const value of [7, { a: 1 }, ['a', 7]])
      t.throws(() => map({ sub: 'a', value }, mappings), { code: 'IdentityUnusable' });
});

t.test('groups that overflowed the token are refused for expressions too', async (t) => {
  const groups = { groups: { expression: 'claims.?groups.orValue([])' } };
  t.throws(() => map({ sub: 'a', hasgroups: true }, groups), { code: 'GroupsOverflow' });
  t.throws(() => map({ sub: 'a', _claim_names: { groups: 'src1' } }, groups), { code: 'GroupsOverflow' });
});

function causeOf(attempt: () => unknown) {
  try {
    attempt();
  } catch (error) {
    if (error instanceof StatusError) return { code: error.code, message: error.message, cause: error.cause };
    throw error;
  }
  return 'accepted';
}

t.test(
  'C037 a rule on claims must be exactly true; otherwise 401, with its message in the log',
  async (t) => {
    const rules = {
      claimValidationRules: [{ expression: 'claims.hd == "acme"', message: 'of acme alone' }],
    };
    t.equal(map({ sub: 'a', hd: 'acme' }, {}, rules).subject.kind, 'claim');
    const refused = { code: 'CredentialInvalid', message: 'Unauthorized' };
    t.match(
      causeOf(() => map({ sub: 'a', hd: 'other' }, {}, rules)),
      { ...refused, cause: /of acme alone/ },
    );
    t.match(
      causeOf(() => map({ sub: 'a' }, {}, rules)),
      { ...refused, cause: /no such key at "claims.hd"/ },
    );
  },
);

t.test('a rule on the user is evaluated with the mapped user', async (t) => {
  const rules = (expression: string) => ({ userValidationRules: [{ expression }] });
  const claims = { sub: 'carol', g: ['dev'], oid: 'o', d: 'r' };
  const mappings = {
    username: { claim: 'sub', prefix: 'p:' },
    groups: { claim: 'g', prefix: 'q:' },
    uid: { expression: 'claims.oid' },
    extra: [{ key: 'example.com/d', claim: 'd' }],
  };
  const whole =
    'user.username == "p:carol" && user.groups == ["q:dev"] && user.uid == "o" && user.extra["example.com/d"] == ["r"]';
  t.equal(map(claims, mappings, rules(whole)).uid, 'o');
  t.match(
    causeOf(() => map(claims, mappings, rules('user.groups.size() > 1'))),
    {
      code: 'CredentialInvalid',
      cause: /user\.groups\.size\(\) > 1 is not true/,
    },
  );
});
