/** Which user owns an access token. */
import t from 'tap';
import { createOwners, latestEnd, ownerKey, signInOf } from '../../../src/identity/owners.ts';
import { TENANCY_FACTS } from '../../../src/tenancy/facts.ts';
import type { Identity, QualifiedIdentity } from '../../../src/tenancy/identity.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { keystoneIdentity } from '../../support/identities.ts';

function user(name: string, uid: string, issuer?: string): QualifiedIdentity {
  return {
    authenticator: issuer === undefined ? 'token-file' : 'jwt',
    subject: { kind: 'claim', name },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid,
    groups: [],
    extra: {},
    expiresAt: 0,
    auditAnnotations: issuer === undefined ? {} : { 'stonegate.dev/issuer': issuer },
  };
}

const DAY = 24 * 3_600_000;
const ISSUER = 'https://login.example.com';
const OPTIONS = {
  isConfigured: () => true,
  usersOf: () => undefined,
  facts: TENANCY_FACTS.arktos,
  signInMaxAge: DAY,
};
const keystone = { enabledUser: async () => undefined };

t.test(
  'a user with an id still owns their tokens after a rename, and a later user of the name does not',
  async (t) => {
    t.equal(ownerKey(user('alice', '1', ISSUER), 'acme'), ownerKey(user('alice.smith', '1', ISSUER), 'acme'));
    t.not(ownerKey(user('alice', '1', ISSUER), 'acme'), ownerKey(user('alice', '2', ISSUER), 'acme'));
  },
);

t.test(
  'a user without an id whose name equals the id of another user does not own the tokens of that user',
  async (t) =>
    t.not(ownerKey(user('4711', '', ISSUER), 'acme'), ownerKey(user('alice', '4711', ISSUER), 'acme')),
);

t.test('users of a token file with the same uid do not share tokens', async (t) =>
  t.not(ownerKey(user('alice', '1000'), 'acme'), ownerKey(user('mallory', '1000'), 'acme')),
);

t.test('users of the same name, or of the same id, in two tenants own nothing of each other', async (t) => {
  const sources = [user('alice', ''), user('alice', '', ISSUER), user('alice', '1', ISSUER)];
  for (const one of [...sources, keystoneIdentity('alice')])
    t.not(ownerKey(one, 'acme'), ownerKey(one, 'globex'));
});

t.test('a credential of a sign-in that is too long ago makes nothing, as it would not count', (t) => {
  const clock = createFakeClock(Date.UTC(2026, 0, 31));
  const owners = createOwners({ ...OPTIONS, clock });
  const dora = (signedInAt: number) => ({ ...user('dora', '1', ISSUER), signedInAt });
  const now = clock.now();
  t.throws(() => owners.ownerOf(dora(now - DAY - 1)), { code: 'OwnerUnusable', message: /sign in again/ });
  const identity = owners.ownerOf(dora(now - DAY));
  t.equal(owners.countsUntil({ identity, signedInAt: now - DAY }), now);
  const ofKeystone = createOwners({ ...OPTIONS, keystone, clock });
  const scoped = keystoneIdentity('alice', { groups: ['keystone:project:p1'], signedInAt: 0 });
  t.ok(ofKeystone.ownerOf(scoped), 'who is looked up needs no sign-in');
  t.notOk('signedInAt' in identity, 'it belongs to the credential');
  t.equal(signInOf(dora(now + DAY), now), now, 'no credential is of a later sign-in');
  t.equal(signInOf(user('dora', '1', ISSUER), now), now);
  t.end();
});

t.test('with a Keystone token of another domain a user makes nothing: it would act in their own', (t) => {
  const owners = createOwners({ ...OPTIONS, keystone, clock: createFakeClock() });
  t.ok(owners.ownerOf(keystoneIdentity('alice', { home: 'acme', scope: 'acme' })));
  t.throws(() => owners.ownerOf(keystoneIdentity('alice', { home: 'acme', scope: 'globex' })), {
    code: 'OwnerUnusable',
    message: /use a Keystone token of that domain/,
  });
  t.end();
});

t.test('a certificate bounds what its user makes, whereas a token of an issuer is renewed', (t) => {
  t.equal(latestEnd({ ...user('dora', '', ISSUER), expiresAt: 7 }), Number.POSITIVE_INFINITY);
  t.equal(latestEnd({ ...user('dora', ''), authenticator: 'x509', expiresAt: 7 }), 7);
  t.end();
});

t.test('an owner whom a file names is found as the file has them now', (t) => {
  const listed = ({ uid = '1', tenant = 'acme', name = 'alice', groups = ['dev'] } = {}): Identity => ({
    authenticator: 'token-file',
    subject: { kind: 'local', usernamePrefix: 'token:', groupsPrefix: 'token:', name, groups },
    tenantOrigin: { from: 'issuer', tenant },
    ...{ uid, extra: {}, expiresAt: Number.POSITIVE_INFINITY, auditAnnotations: {} },
  });
  const [same, moved, without] = [listed(), listed({ groups: ['ops'] }), listed({ groups: [] })];
  for (const facts of Object.values(TENANCY_FACTS)) {
    const found = (...users: readonly Identity[]) => {
      const owners = createOwners({ ...OPTIONS, usersOf: () => users, facts, clock: createFakeClock(0) });
      return owners.current({ identity: owners.ownerOf(same), signedInAt: 0 });
    };
    t.equal(found(moved), moved);
    t.equal(found(without, same), same, 'another of the lines of the user');
    const others = [listed({ name: 'bob' }), listed({ tenant: 'globex' }), listed({ uid: '2' })];
    t.throws(() => found(...others), { code: 'CredentialInvalid' });
  }
  t.end();
});
