import t from 'tap';
import { finishedUser } from '../../../src/tenancy/finished-user.ts';
import { claimIdentity, keystoneIdentity } from '../../support/identities.ts';

const username = 'acme:alice';

t.test('C023 system:authenticated is added exactly once, even without other groups', async (t) =>
  t.strictSame(finishedUser(keystoneIdentity('alice'), { username }).groups, ['system:authenticated']),
);

t.test('C044 system:authenticated from an identity source is accepted, and not repeated', async (t) => {
  const groups = ['a', 'system:authenticated', 'a'];
  t.strictSame(finishedUser(keystoneIdentity('alice', { groups }), { username }).groups, [
    'a',
    'system:authenticated',
  ]);
});

for (const group of ['system:unauthenticated', 'system:masters', 'stonegate:tenant:globex'])
  t.test(`C045 C048 the group ${group} is refused`, async (t) =>
    t.throws(() => finishedUser(keystoneIdentity('alice', { groups: [group] }), { username }), {
      code: 'IdentityReserved',
      message: new RegExp(group),
    }),
  );

t.test('a claim cannot produce a Keystone group', async (t) => {
  const groups = ['keystone:project:p1:role:admin'];
  t.throws(() => finishedUser(claimIdentity('oidc:carol', 'acme', { groups }), { username }), {
    code: 'IdentityReserved',
  });
  t.strictSame(finishedUser(keystoneIdentity('alice', { groups }), { username }).groups[0], groups[0]);
});

for (const name of ['system:authenticated', 'system:masters', 'system:serviceaccount:kube-system:default'])
  t.test(`C046 the claimed user name ${name} is refused, whatever the mode makes of it`, async (t) =>
    t.throws(() => finishedUser(claimIdentity(name), { username: `acme:${name}` }), {
      code: 'IdentityReserved',
    }),
  );

t.test('C047 a name that only resembles a reserved one is accepted', async (t) => {
  const identity = claimIdentity('system-admin', 'acme', { groups: ['systemd:ops', 'System:masters'] });
  t.strictSame(finishedUser(identity, { username: 'system-admin' }).groups, [
    'systemd:ops',
    'System:masters',
    'system:authenticated',
  ]);
});

t.test('a name under system: is refused unless the mode itself chose it', async (t) => {
  t.throws(() => finishedUser(keystoneIdentity('x'), { username: 'system:x' }), { code: 'IdentityReserved' });
  t.equal(
    finishedUser(keystoneIdentity('x'), { username: 'system:stonegate:x', systemUser: true }).username,
    'system:stonegate:x',
  );
});

for (const key of ['Roles', 'a b', 'ключ', ''])
  t.test(`C082 C090 the extra key ${JSON.stringify(key)} would arrive as another and is refused`, async (t) =>
    t.throws(() => finishedUser(keystoneIdentity('alice', { extra: { [key]: ['x'] } }), { username }), {
      code: 'IdentityUnusable',
    }),
  );

for (const key of ['stonegate.dev/tenant', 'stonegate.dev', 'x.stonegate.dev/y'])
  t.test(`C091 C163 the extra key ${key} is Stonegate’s own and refused from identity sources`, async (t) =>
    t.throws(() => finishedUser(claimIdentity('o:x', 'acme', { extra: { [key]: ['x'] } }), { username }), {
      code: 'IdentityReserved',
    }),
  );

t.test('C092 an extra key that only resembles a reserved one is accepted', async (t) => {
  const extra = { 'sstonegate.dev/tenant': ['x'], 'stonegate.devx/tenant': ['y'] };
  t.strictSame(finishedUser(claimIdentity('o:x', 'acme', { extra }), { username }).extra, extra);
});

for (const group of ['', '\u00a0a', 'a\nb', 'a\ud800'])
  t.test(`the group ${JSON.stringify(group)} would arrive as another and is refused`, async (t) =>
    t.throws(() => finishedUser(keystoneIdentity('alice', { groups: [group] }), { username }), {
      code: 'IdentityUnusable',
    }),
  );

for (const username of ['', ' a', 'a\u0085b', '\udc00'])
  t.test(`the user name ${JSON.stringify(username)} is refused`, async (t) =>
    t.throws(() => finishedUser(claimIdentity('o:x'), { username }), { code: 'IdentityUnusable' }),
  );

t.test('a user id or an extra value with a control character is refused', async (t) => {
  t.throws(() => finishedUser(keystoneIdentity('a', { uid: 'a\r\nb' }), { username }), {
    code: 'IdentityUnusable',
  });
  t.throws(() => finishedUser(keystoneIdentity('a', { extra: { k: ['a\u0007'] } }), { username }), {
    code: 'IdentityUnusable',
  });
});

t.test('uid, groups and extra of the identity and of the mode are all included', async (t) => {
  const identity = keystoneIdentity('alice', { groups: ['g1'], extra: { k: ['v', 'w'] } });
  t.strictSame(finishedUser(identity, { username, groups: ['g2'], extra: { own: ['x'] } }), {
    username,
    uid: 'uid-of-alice',
    groups: ['g1', 'g2', 'system:authenticated'],
    extra: { k: ['v', 'w'], own: ['x'] },
  });
});
