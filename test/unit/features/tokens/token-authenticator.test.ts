import t from 'tap';
import { createTokenWorld } from '../../../support/token-world.ts';

t.test('without news of the API server a token is accepted for two minutes, then none is', async (t) => {
  const world = createTokenWorld();
  const { clock, replica } = world;
  const { parts, news } = replica(0);
  const spec = { scopes: ['read'], expirationSeconds: 3_600 };
  const { status } = await parts.tokens.create(world.signIn('carol', 0), spec, new AbortController().signal);
  replica(0).deliver();
  const authenticate = async () =>
    parts.authenticator.authenticate({ kind: 'bearer', token: status.token ?? '' }, { source: '127.0.0.1' });
  Object.assign(news, { failingSince: clock.now(), provenAt: clock.now() });
  clock.advance(120_000);
  t.match(await authenticate(), { subject: { name: 'oidc:carol' } });
  clock.advance(1);
  await t.rejects(authenticate(), { code: 'TokensUnavailable' });
  news.provenAt = clock.now();
  t.match(await authenticate(), { subject: { name: 'oidc:carol' } });
});

t.test('what is made with an access token has the time of its owner’s sign-in', async (t) => {
  const { clock, replica, signIn } = createTokenWorld();
  const { parts, deliver } = replica(0);
  const spec = { scopes: ['session', '+tokens'], expirationSeconds: 3_600 };
  const signedInAt = clock.now() - 60_000;
  const carol = { ...signIn('carol', 0), signedInAt };
  const { status } = await parts.tokens.create(carol, spec, new AbortController().signal);
  deliver();
  const credential = { kind: 'bearer', token: status.token ?? '' } as const;
  t.match(await parts.authenticator.authenticate(credential, { source: '127.0.0.1' }), { signedInAt });
});

t.test('a token of a deleted tenant is none of the tenant that has its name now', async (t) => {
  const { clock, tenants, replica, signIn } = createTokenWorld();
  const { parts, deliver } = replica(0);
  const carol = signIn('carol', 0);
  const spec = { scopes: ['read'], expirationSeconds: 3_600 };
  const { status } = await parts.tokens.create(carol, spec, new AbortController().signal);
  deliver();
  t.equal(parts.tokens.list(carol).length, 1);
  tenants.put({ name: 'acme', uid: 'second', createdAt: clock.now() + 1_000, revision: 1 });
  t.same(parts.tokens.list(carol), []);
  const credential = { kind: 'bearer', token: status.token ?? '' } as const;
  const asked = async () => parts.authenticator.authenticate(credential, { source: '127.0.0.1' });
  const refused = t.rejects(asked(), { code: 'CredentialInvalid' });
  clock.advance(1_000);
  await refused;
});
