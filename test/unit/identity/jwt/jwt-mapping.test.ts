import t from 'tap';
import type { JWTConfiguration } from '../../../../src/config/core-configuration.ts';
import { identityOfClaims, tenantOfClaims } from '../../../../src/identity/jwt/jwt-mapping.ts';
import { jwtConfiguration } from '../../../support/oidc/jwt-configuration.ts';

const EXPIRES = 1_800_000_000_000;

function map(claims: Record<string, unknown>, changes: Partial<JWTConfiguration> = {}) {
  return identityOfClaims({ claims, expiresAt: EXPIRES }, jwtConfiguration(changes));
}

function named(prefix: string, claim = 'sub') {
  return {
    claimMappings: { username: { claim, prefix }, groups: { claim: 'groups', prefix }, extra: [] },
  };
}

t.test('a token becomes a user with the issuer’s prefix, groups and tenant', async (t) => {
  const identity = map({ sub: 'carol', groups: ['dev', 'ops'], jti: 'token-1' });
  t.same(identity, {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: 'oidc:carol' },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid: '',
    groups: ['oidc:dev', 'oidc:ops'],
    extra: { 'authentication.kubernetes.io/credential-id': ['JTI=token-1'] },
    expiresAt: EXPIRES,
    auditAnnotations: {
      'stonegate.dev/issuer': 'https://login.example.com',
      'stonegate.dev/token-id': 'token-1',
    },
  });
});

t.test('a user signed in when the token was issued, if it says so', async (t) => {
  t.equal(map({ sub: 'carol', iat: 1_700_000_000 }).signedInAt, 1_700_000_000_000);
  for (const iat of [undefined, '1700000000', Number.POSITIVE_INFINITY])
    t.notOk('signedInAt' in map({ sub: 'carol', iat }));
});

t.test('C022 a token whose username claim is empty is refused with 403', async (t) =>
  t.throws(() => map({ sub: '' }), { code: 'IdentityUnusable', message: /^username claim not available/ }),
);

t.test(
  'a username claim with the name of an inherited object member is not found if the token lacks it',
  async (t) => t.throws(() => map({ sub: 'carol' }, named('', 'constructor')), { code: 'IdentityUnusable' }),
);

t.test('C037 a required claim that is missing, different or not a string is refused with 401', async (t) => {
  const rules = { claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }] };
  t.equal(map({ sub: 'carol', hd: 'example.com' }, rules).subject.kind, 'claim');
  for (const claims of [{}, { hd: 'other.com' }, { hd: ['example.com'] }, { hd: null }])
    t.throws(() => map({ sub: 'carol', ...claims }, rules), {
      code: 'CredentialInvalid',
      message: 'Unauthorized',
    });
});

t.test('an e-mail address names a user only if the issuer has verified it', async (t) => {
  const byEmail = named('oidc:', 'email');
  t.match(map({ email: 'carol@example.com', email_verified: true }, byEmail).subject, {
    name: 'oidc:carol@example.com',
  });
  for (const email_verified of [false, 'true', 1, undefined])
    t.throws(() => map({ email: 'carol@example.com', email_verified }, byEmail), {
      code: 'IdentityUnusable',
    });
});

t.test(
  'an unverified e-mail address determines neither a group nor the tenant nor a required claim',
  async (t) => {
    const claims = { sub: 'carol', email: 'carol@example.com' };
    const groups = {
      claimMappings: { ...jwtConfiguration().claimMappings, groups: { claim: 'email', prefix: '' } },
    };
    t.throws(() => map(claims, groups), { code: 'IdentityUnusable' });
    t.throws(() => map(claims, { tenant: { claim: 'email', map: { 'carol@example.com': 'acme' } } }), {
      code: 'IdentityUnusable',
    });
    const rules = [{ claim: 'email', requiredValue: 'carol@example.com' }];
    t.throws(() => map(claims, { claimValidationRules: rules }), { code: 'IdentityUnusable' });
  },
);

t.test('C182 an e-mail address with two domains is refused', async (t) => {
  const claims = { sub: 'a', email: 'a@evil.com@corp.com', email_verified: true };
  t.throws(() => map(claims, named('oidc:', 'email')), { code: 'IdentityUnusable' });
  t.throws(() => map(claims, { tenant: { claim: 'email', map: { 'corp.com': 'corp' } } }), {
    code: 'TenantUnknown',
  });
});

t.test('C044 C045 C048 system:authenticated is the only group under system: that is accepted', async (t) => {
  t.same(map({ sub: 'carol', groups: ['system:authenticated'] }, named('')).groups, ['system:authenticated']);
  t.throws(() => map({ sub: 'carol', groups: ['dev', 'system:unauthenticated'] }, named('')), {
    code: 'IdentityReserved',
    http: 403,
  });
});

t.test('C046 a reserved username is refused with 403', async (t) => {
  for (const sub of ['system:authenticated', 'system:masters', 'system:serviceaccount:kube-system:default'])
    t.throws(() => map({ sub }, named('')), { code: 'IdentityReserved', http: 403 });
});

t.test('C047 names that merely resemble reserved ones are accepted', async (t) => {
  const identity = map({ sub: 'system-admin', groups: ['systemd:ops'] }, named(''));
  t.match(identity, { subject: { name: 'system-admin' }, groups: ['systemd:ops'] });
});

t.test('C163 an issuer cannot produce a reserved name, group or extra key', async (t) => {
  t.throws(() => map({ sub: 'tem:masters' }, named('sys')), { code: 'IdentityReserved' });
  t.throws(() => map({ sub: 'carol', groups: 'keystone:project:1' }, named('')), {
    code: 'IdentityReserved',
  });
  t.throws(() => map({ sub: 'carol', groups: 'stonegate:tenant:acme' }, named('')), {
    code: 'IdentityReserved',
  });
});

t.test('a token with an unpaired surrogate is refused, since two names could become one', async (t) => {
  for (const claims of [
    { sub: 'carol', groups: ['dev', '\udc00\ud800'] },
    { sub: 'carol', x: { 'a\ud800': [1] } },
  ])
    t.throws(() => map(claims), { code: 'IdentityUnusable' });
  t.match(map({ sub: '😀' }), { subject: { name: 'oidc:😀' } }, 'a surrogate pair is one character');
});

t.test('the error about a missing claim or an unlisted value names only the claim', async (t) => {
  const tenant = { claim: 'hd', map: { 'acme.com': 'acme' } };
  t.throws(() => tenantOfClaims({}, tenant), { code: 'TenantUnknown', message: /"hd".* is missing/ });
  t.throws(() => tenantOfClaims({ hd: 'evil.com' }, tenant), { code: 'TenantUnknown', message: /"hd"/ });
  t.throws(() => tenantOfClaims({ hd: 'evil.com' }, tenant), { message: /^((?!evil).)*$/ });
});
