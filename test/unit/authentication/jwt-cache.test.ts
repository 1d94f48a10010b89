import t from 'tap';
import { createVerifiedTokens } from '../../../src/authentication/jwt-cache.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a verified token is remembered for a minute at most', async (t) => {
  const clock = createFakeClock(1_000);
  const tokens = createVerifiedTokens<string>({ maxEntries: 2, clock });
  tokens.set('token', 'carol', 1_000_000);
  t.equal(tokens.get('token'), 'carol');
  clock.advance(59_999);
  t.equal(tokens.get('token'), 'carol');
  clock.advance(1);
  t.equal(tokens.get('token'), undefined);
});

t.test('a verified token is forgotten at the very millisecond it expires', async (t) => {
  const clock = createFakeClock(1_000);
  const tokens = createVerifiedTokens<string>({ maxEntries: 2, clock });
  tokens.set('token', 'carol', 1_500);
  clock.advance(499);
  t.equal(tokens.get('token'), 'carol');
  clock.advance(1);
  t.equal(tokens.get('token'), undefined);
});

t.test('the token used longest ago makes room', async (t) => {
  const tokens = createVerifiedTokens<string>({ maxEntries: 2, clock: createFakeClock(0) });
  tokens.set('a', 'alice', 1_000);
  tokens.set('b', 'bob', 1_000);
  tokens.get('a');
  tokens.set('c', 'carol', 1_000);
  t.same([tokens.get('a'), tokens.get('b'), tokens.get('c')], ['alice', undefined, 'carol']);
});
