import t from 'tap';
import { ownUserName } from '../../../src/upstream/credential.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

t.test('a certificate says it in its common name', async (t) => {
  const authority = await createAuthority();
  t.equal(ownUserName(await authority.client('stonegate', ['tenant:system'])), 'stonegate');
  t.equal(ownUserName({ cert: 'none', key: '' }), undefined);
});

t.test('a service account’s token says it in its subject', async (t) => {
  const sub = 'system:serviceaccount:stonegate:stonegate';
  t.equal(ownUserName({ token: token({ sub }) }), sub);
});

t.test('other tokens say nothing that could be relied on', async (t) => {
  for (const given of ['opaque', 'a.b.c', token({ sub: 'stonegate' }), token({}), ''])
    t.equal(ownUserName({ token: given }), undefined);
});
