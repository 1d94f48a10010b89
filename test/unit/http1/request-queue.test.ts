/** Who waits for a connection is served in turn, and told in time where there is none. */
import t from 'tap';
import { Errand } from '../../../src/http1/pending-request.ts';
import { WaitingErrands } from '../../../src/http1/request-queue.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { Recorder } from '../../support/raw-http/recorder.ts';

const PATIENCE = 20_000;

function setUp() {
  const clock = createFakeClock();
  const refused: Errand[] = [];
  const waiting = new WaitingErrands(clock, PATIENCE, (errand) => refused.push(errand));
  const errand = (): Errand => new Errand({ method: 'GET', head: '', framing: 'none' }, new Recorder());
  return { clock, refused, waiting, errand };
}

t.test('a request that got no connection after all goes on waiting where it was', async (t) => {
  const { clock, refused, waiting, errand } = setUp();
  const one = errand();
  waiting.add(one);
  clock.advance(PATIENCE / 2);
  const two = errand();
  t.equal(waiting.take(), one);
  waiting.add(two);
  waiting.add(one);
  clock.advance(PATIENCE / 2 - 1);
  t.same(refused, []);
  clock.advance(1);
  t.ok(refused.length === 1 && refused[0] === one, 'its limit is the first one');
  t.equal(waiting.take(), two);
  t.ok(waiting.empty);
  t.equal(clock.pending, 0);
});

t.test('a request that got none after its limit is refused at once', async (t) => {
  const { clock, refused, waiting, errand } = setUp();
  const one = errand();
  waiting.add(one);
  waiting.take();
  clock.advance(PATIENCE + 1);
  waiting.add(one);
  clock.advance(0);
  t.equal(refused.length, 1);
  t.ok(waiting.empty);
});

t.test('a request that has not waited yet waits behind all others', async (t) => {
  const { waiting, errand } = setUp();
  const [one, two] = [errand(), errand()];
  waiting.add(one);
  waiting.add(two);
  t.equal(waiting.take(), one);
  t.equal(waiting.take(), two);
});
