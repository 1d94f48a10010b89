import t from 'tap';
import { createTokenWorld } from '../../../support/token-world.ts';

const { signal } = new AbortController();

/** A token that carol has made, the authenticator that accepts it, and what belongs to them. */
async function setUp({ scopes = ['read'], signedInAgo = 0 } = {}) {
  const world = createTokenWorld();
  const { parts, deliver, news } = world.replica(0);
  const carol = { ...world.signIn('carol', 0), signedInAt: world.clock.now() - signedInAgo };
  const spec = { scopes, expirationSeconds: 3_600 };
  const { status } = await parts.tokens.create(carol, spec, signal);
  deliver();
  const credential = { kind: 'bearer', token: status.token ?? '' } as const;
  const authenticate = async () => parts.authenticator.authenticate(credential, { source: '127.0.0.1' });
  return { ...world, parts, news, carol, authenticate };
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
