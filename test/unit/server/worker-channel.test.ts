/** Workers that do not respond to the primary process. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { requestReport } from '../../../src/server/worker-channel.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('a hanging worker counts as one that did not respond', async (t) => {
  const clock = createFakeClock();
  const response = requestReport(new EventEmitter(), clock, 1_000);
  clock.advance(1_000);
  t.equal(await response, undefined);
});
