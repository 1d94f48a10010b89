import t from 'tap';
import { createTokenWorld } from '../../../support/token-world.ts';

const { signal } = new AbortController();

/** A token that carol has made, the authenticator that accepts it, and what belongs to them. */
async function setUp({ scopes = ['read'], signedInAgo = 0 } = {}) {
  const world = createTokenWorld();
  const { parts, deliver, news } = world.replica(0);
  const carol = { ...world.signIn('carol', 0), signedInAt: world.clock.now() - signedInAgo };
  const spec = { scopes, expirationSeconds: 3_600 };
  const { metadata, status } = await parts.tokens.create(carol, spec, signal);
  deliver();
  const { name } = metadata;
  const secret = status.token ?? '';
  const authenticate = async (token = secret, kind: 'bearer' | 'x-auth-token' = 'bearer') =>
    world.replica(0).parts.authenticator.authenticate({ kind, token }, { source: '127.0.0.1' });
  return { ...world, parts, deliver, news, carol, name, secret, authenticate };
}

t.test('without news of the API server a token is accepted for two minutes, then none is', async (t) => {
  const { clock, news, authenticate } = await setUp();
  Object.assign(news, { failingSince: clock.now(), provenAt: clock.now() });
  clock.advance(120_000);
  t.match(await authenticate(), { subject: { name: 'oidc:carol' } });
  clock.advance(1);
  await t.rejects(authenticate(), { code: 'TokensUnavailable' });
  news.provenAt = clock.now();
  t.match(await authenticate(), { subject: { name: 'oidc:carol' } });
});

t.test('what is made with an access token has the time of its owner’s sign-in', async (t) => {
  const { authenticate, carol } = await setUp({ scopes: ['session', '+tokens'], signedInAgo: 60_000 });
  t.match(await authenticate(), { signedInAt: carol.signedInAt });
});

t.test('a token of a deleted tenant is none of the tenant that has its name now', async (t) => {
  const { clock, tenants, parts, carol, authenticate } = await setUp();
  t.equal(parts.tokens.list(carol).length, 1);
  tenants.put({ name: 'acme', uid: 'second', createdAt: clock.now() + 1_000, revision: 1 });
  t.same(parts.tokens.list(carol), []);
  const refused = t.rejects(authenticate(), { code: 'CredentialInvalid' });
  clock.advance(1_000);
  await refused;
});

t.test('D426 a token is made only with a lifetime, which is at most the maximum of its scopes', async (t) => {
  const { replica, carol } = await setUp();
  const create = (expirationSeconds?: number) => {
    const lifetime = expirationSeconds === undefined ? {} : { expirationSeconds };
    return replica(0).parts.tokens.create(carol, { scopes: ['read'], ...lifetime }, signal);
  };
  const refused = { code: 'ObjectInvalid', message: /expected 1 to 86400 \(24h\)/ };
  for (const seconds of [undefined, 0, -5, 86_401, 1e12]) await t.rejects(create(seconds), refused);
  for (const seconds of [1, 86_400]) t.match(await create(seconds), { status: { state: 'active' } });
});

t.test(
  'a secret counts until the overlap after its rotation is over, and the token is revoked',
  async (t) => {
    const { clock, parts, deliver, carol, name, secret, authenticate } = await setUp();
    const { status } = await parts.tokens.rotate(carol, name, 600, signal);
    deliver();
    clock.advance(599_999);
    for (const each of [secret, status.token])
      t.match(await authenticate(each), { subject: { name: 'oidc:carol' } });
    clock.advance(1);
    t.match(await authenticate(status.token), { subject: { name: 'oidc:carol' } });
    const annotations = {
      'stonegate.dev/access-token': name,
      'stonegate.dev/reason': /wrong, or was rotated/,
    };
    await t.rejects(authenticate(), { code: 'CredentialInvalid', auditAnnotations: annotations });
    await parts.tokens.revoke(carol, name, signal);
    deliver();
    await t.rejects(authenticate(status.token), {
      code: 'CredentialInvalid',
      auditAnnotations: { 'stonegate.dev/reason': /is revoked: revoked by its owner/ },
    });
  },
);

t.test('a token is accepted only as a bearer token, without a typo', async (t) => {
  const { secret, authenticate } = await setUp();
  await t.rejects(authenticate(secret, 'x-auth-token'), {
    code: 'CredentialInvalid',
    cause: /as a bearer token/,
  });
  await t.rejects(authenticate(`${secret}x`), { code: 'CredentialInvalid', cause: /typo/ });
  t.equal(await authenticate(`x${secret}`), undefined, 'another credential');
});
