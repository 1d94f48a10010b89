import t from 'tap';
import { inTurn } from '../../../src/cache/in-turn.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a look that fails gives the turn back, so that no replica waits for nothing', async (t) => {
  const given: string[] = [];
  const asked = inTurn({
    clock: createFakeClock(),
    takeTurn: async () => ({ giveBack: () => void given.push('back') }),
    look: async () => {
      throw new Error('garbage');
    },
    ask: async () => 'an answer',
  });
  await t.rejects(asked, { message: 'garbage' });
  t.same(given, ['back']);
});

t.test('whoever finds the answer with the turn in hand gives it back and asks nobody', async (t) => {
  const given: string[] = [];
  const found = await inTurn({
    clock: createFakeClock(),
    takeTurn: async () => ({ giveBack: () => void given.push('back') }),
    look: async () => 'there by now',
    ask: async () => 'asked',
  });
  t.equal(found, 'there by now');
  t.same(given, ['back']);
});
