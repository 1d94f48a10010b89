import t from 'tap';
import { groupsOf } from '../../../support/identities.ts';
import { createTokenWorld, HOUR } from '../../../support/token-world.ts';

const DAY = 24 * HOUR;

t.test('D429 expired and revoked tokens stay listed with the reason for 30 days', async (t) => {
  const world = createTokenWorld();
  const { replica } = world;
  const { parts } = replica(0);
  const { signal } = new AbortController();
  const spec = { scopes: ['read'], expirationSeconds: 3_600 };
  const carol = world.signIn('carol', 0);
  const [expired, revoked] = [
    await parts.tokens.create(carol, spec, signal),
    await parts.tokens.create(carol, spec, signal),
  ];
  replica(0).deliver();
  await world.authenticate(0, expired.status.token ?? '');
  await world.pass(1_000);
  await parts.tokens.revoke(carol, revoked.metadata.name, signal);
  const listed = () => {
    replica(0).deliver();
    return new Map(parts.tokens.list(carol).map(({ metadata, status }) => [metadata.name, status]));
  };
  await world.pass(2 * HOUR);
  t.match(listed().get(expired.metadata.name), {
    state: 'expired',
    reason: 'its time is over',
    lastUsedTimestamp: '2026-01-01T00:00:01Z',
  });
  t.match(listed().get(revoked.metadata.name), { state: 'revoked', reason: 'revoked by its owner' });
  await world.pass(29 * DAY);
  t.equal(listed().size, 2);
  await world.pass(DAY);
  t.equal(listed().size, 0);
  t.equal(world.objects.all().length, 0);
});

t.test('the groups that a sign-in takes away are written before the last uses of tokens', async (t) => {
  const world = createTokenWorld();
  const { carol, replica } = world;
  const { parts } = replica(0);
  const { signal } = new AbortController();
  const make = async (owner: 'alice' | 'carol') => {
    const spec = { scopes: ['read'], expirationSeconds: 3_600 };
    const { status } = await parts.tokens.create(world.signIn(owner, 0), spec, signal);
    return status.token ?? '';
  };
  const used = [];
  for (let count = 0; count < 10; count += 1) used.push(await make('alice'));
  const secret = await make('carol');
  replica(0).deliver();
  for (const each of used) await world.authenticate(0, each);
  carol.groups = [];
  world.signIn('carol', 0);
  // Enough for two writes.
  await world.pass(0);
  const identity = await world.authenticate(0, secret);
  t.same(identity && groupsOf(identity), []);
});
