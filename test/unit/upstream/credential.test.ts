import t from 'tap';
import { ownUserName } from '../../../src/upstream/credential.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

t.test('Stonegate’s name is the common name of its certificate', async (t) => {
  const authority = await createAuthority();
  t.equal(ownUserName(await authority.client('stonegate', ['tenant:system'])), 'stonegate');
  t.equal(ownUserName({ cert: 'none', key: '' }), undefined);
});

t.test('Stonegate’s name is the subject of its service account’s token', async (t) => {
  const sub = 'system:serviceaccount:stonegate:stonegate';
  t.equal(ownUserName({ token: token({ sub }) }), sub);
});

t.test('no other token or text shows a name', async (t) => {
  for (const given of ['opaque', 'a.b.c', token({ sub: 'stonegate' }), token({}), ''])
    t.equal(ownUserName({ token: given }), undefined);
});
