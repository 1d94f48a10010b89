/** Requests that wait for a connection are served in order, and refused in time if none becomes free. */
import t from 'tap';
import { PendingRequest, RequestQueue } from '../../../../src/upstream/http1/pending-request.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { Recorder } from '../../../support/raw-http/recorder.ts';

const TIMEOUT = 20_000;

function setUp() {
  const clock = createFakeClock();
  const refused: PendingRequest[] = [];
  const queue = new RequestQueue(clock, TIMEOUT, (request) => refused.push(request));
  const create = () =>
    new PendingRequest({ method: 'GET', head: '', framing: 'none' }, new Recorder(), () => undefined);
  return { clock, refused, queue, create };
}

t.test(
  'a request whose connection failed waits again in its old place, with its old time limit',
  async (t) => {
    const { clock, refused, queue, create } = setUp();
    const one = create();
    queue.add(one);
    clock.advance(TIMEOUT / 2);
    const two = create();
    t.equal(queue.take(), one);
    queue.add(two);
    queue.add(one);
    clock.advance(TIMEOUT / 2 - 1);
    t.same(refused, []);
    clock.advance(1);
    t.ok(refused.length === 1 && refused[0] === one);
    t.equal(queue.take(), two);
    t.equal(queue.size, 0);
    t.equal(clock.pending, 0);
  },
);

t.test('a request whose connection failed after its time limit is refused at once', async (t) => {
  const { clock, refused, queue, create } = setUp();
  const one = create();
  queue.add(one);
  queue.take();
  clock.advance(TIMEOUT + 1);
  queue.add(one);
  clock.advance(0);
  t.equal(refused.length, 1);
  t.equal(queue.size, 0);
});
