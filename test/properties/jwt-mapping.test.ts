import fc from 'fast-check';
import t from 'tap';
import { compileClaimsExpression, ExpressionError } from '../../src/cel/cel.ts';
import type { JWTTenant } from '../../src/config/core-configuration.ts';
import { StatusError } from '../../src/errors/status-error.ts';
import { identityOfClaims } from '../../src/identity/jwt/jwt-mapping.ts';
import { jwtConfiguration } from '../support/oidc/jwt-configuration.ts';

const word = fc.oneof(
  fc.constantFrom(
    'system:',
    'system:masters',
    'sys',
    'tem:masters',
    'keystone:x',
    'acme',
    'system',
    'all',
    ' ',
  ),
  fc.string({ unit: 'binary' }),
);
const value = fc.oneof(word, fc.array(word), fc.jsonValue());
const anyClaims = fc.dictionary(fc.constantFrom('sub', 'groups', 'hd', 'oid', 'd', '__proto__'), value);
/** Claims of the types that issuers use, so that enough tokens are accepted. */
const plain = fc.constantFrom('alice', 'staff', 'x');
const usualClaims = fc.record({
  sub: fc.oneof(plain, word),
  groups: fc.array(fc.oneof({ weight: 4, arbitrary: plain }, word), { maxLength: 3 }),
  hd: fc.constantFrom('acme', 'ops', 'all'),
  oid: plain,
  d: plain,
});
const claims = fc.oneof(anyClaims, usualClaims);
const tenant: fc.Arbitrary<JWTTenant> = fc.oneof(
  fc.record({ value: fc.constantFrom('acme', 'system', 'all') }),
  fc.record({ claim: fc.constant('hd'), map: fc.constant({ acme: 'acme', ops: 'system' }) }),
  fc.record({ claim: fc.constant('hd'), allow: fc.constant(['acme', 'all']) }),
);

/** @returns undefined if `make` throws a StatusError; other errors fail the test */
function refusable<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

t.test('no token results in a reserved or blank name or in a tenant that is not configured', async (t) => {
  let accepted = 0;
  fc.assert(
    fc.property(claims, word, tenant, (token, prefix, tenant) => {
      const configuration = jwtConfiguration({
        tenant,
        claimMappings: {
          username: { claim: 'sub', prefix },
          groups: { claim: 'groups', prefix },
          uid: { claim: 'oid' },
          extra: [{ key: 'example.org/d', claim: 'd' }],
        },
      });
      const identity = refusable(() => identityOfClaims({ claims: token, expiresAt: 1 }, configuration));
      if (identity === undefined) return true;
      accepted += 1;
      if (identity.subject.kind !== 'claim' || identity.tenantOrigin.from !== 'issuer') return false;
      const names = [
        identity.subject.name,
        ...identity.groups.filter((name) => name !== 'system:authenticated'),
      ];
      const listed = 'map' in tenant ? ['acme', 'system'] : ['acme'];
      return (
        names.every(
          (name) => name.trim() === name && name !== '' && !/^(system|keystone|stonegate):/.test(name),
        ) &&
        names.every((name) => !/\p{Cc}/u.test(name) && name.isWellFormed()) &&
        listed.includes(identity.tenantOrigin.tenant)
      );
    }),
    { numRuns: 2_000 },
  );
  t.ok(accepted > 0, 'some tokens were accepted');
});

const expression = fc.constantFrom(
  'claims.sub',
  'claims.?sub.orValue("")',
  '"sys" + claims.sub',
  'claims.sub.lowerAscii()',
  'claims.sub.trim()',
  'claims.sub.replace("x", "")',
  'claims.sub.substring(1)',
  'claims.groups',
  'dyn(claims.groups).map(g, g)',
  'dyn(claims.groups).filter(g, g != "acme")',
  'claims.groups.join("")',
  'claims.sub.split(":")',
  'claims[claims.sub]',
  'claims.?groups[?0].orValue(claims.hd)',
  'claims',
  'null',
);

t.test(
  'no expression results in a reserved or blank name or in one without the issuer’s prefix',
  async (t) => {
    let accepted = 0;
    fc.assert(
      fc.property(
        claims,
        expression,
        expression,
        fc.constantFrom('', 'a', 'acme:'),
        (token, name, group, prefix) => {
          const configuration = jwtConfiguration({
            claimMappings: {
              username: { expression: name },
              groups: { expression: group },
              uid: { expression: name },
              extra: [{ key: 'example.org/d', valueExpression: group }],
            },
            usernamePrefix: prefix,
            groupsPrefix: prefix,
          });
          const identity = refusable(() => identityOfClaims({ claims: token, expiresAt: 1 }, configuration));
          if (identity?.subject.kind !== 'claim') return identity === undefined;
          accepted += 1;
          const names = [
            identity.subject.name,
            ...identity.groups.filter((each) => each !== 'system:authenticated'),
          ];
          const texts = [...names, ...Object.values(identity.extra).flat()];
          return (
            names.every((each) => each.startsWith(prefix) && !/^(system|keystone|stonegate):/.test(each)) &&
            texts.every(
              (each) => each !== '' && each.trim() === each && !/\p{Cc}/u.test(each) && each.isWellFormed(),
            )
          );
        },
      ),
      { numRuns: 2_000 },
    );
    t.ok(accepted > 0, 'some tokens were accepted');
  },
);

t.test('compiling any text returns an expression or throws an ExpressionError', async (t) => {
  const piece = fc.oneof(
    fc.constantFrom(
      'claims',
      '.',
      'sub',
      '(',
      ')',
      '[',
      ']',
      '?',
      ':',
      '"',
      "'",
      '+',
      '==',
      'map',
      'x',
      ',',
      '{',
      '}',
      '1',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      try {
        return compileClaimsExpression(pieces.join('')).type !== '';
      } catch (error) {
        return error instanceof ExpressionError;
      }
    }),
    { numRuns: 5_000 },
  );
  t.pass();
});
