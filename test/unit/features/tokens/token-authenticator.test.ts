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
