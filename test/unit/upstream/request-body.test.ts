import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { RequestBody } from '../../../src/upstream/request-body.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { codeOf } from '../../support/raw-http/relay.ts';

function bodyOf<S extends Readable = PassThrough>(
  source: S | PassThrough = new PassThrough(),
  { maxBytes = 1_000, whole = 1_000 } = {},
) {
  const clock = createFakeClock(0);
  const faults: Error[] = [];
  const body = new RequestBody(source, {
    clock,
    maxBytes,
    clientStall: 30,
    whole,
    upstreamStall: 60,
    onBytes() {},
    onFault: (fault) => faults.push(fault),
  });
  return { clock, source, faults, body };
}

t.test('a request body', async (t) => {
  t.test('of exactly the maximum size passes', async (t) => {
    const { source, body, faults } = bodyOf(new PassThrough(), { maxBytes: 7 });
    source.end('one two');
    t.equal(Buffer.concat(await body.toArray()).toString(), 'one two');
    t.same(faults, []);
  });

  t.test('is not read, and no timeout runs, before the connection asks for it', async (t) => {
    let reads = 0;
    const source = new Readable({
      read() {
        reads += 1;
        this.push('leave to go on');
        this.push(null);
      },
    });
    const { body, clock } = bodyOf(source);
    await new Promise(setImmediate);
    t.equal(reads, 0);
    t.equal(clock.pending, 0);
    t.equal(Buffer.concat(await body.toArray()).toString(), 'leave to go on');
  });

  t.test(
    'that has not arrived completely within its time limit is a 408, even if it never stalls',
    async (t) => {
      const { source, body, clock, faults } = bodyOf(new PassThrough(), { whole: 100 });
      body.resume();
      for (let seconds = 0; seconds < 99; seconds += 1) {
        source.write('x');
        await turn();
        clock.advance(1);
      }
      t.same(faults, []);
      clock.advance(1);
      t.same(faults.map(codeOf), ['BodyTimeout']);
      t.equal(clock.pending, 0);
    },
  );

  t.test('without a limit for the whole of it may take any time if it never stalls', async (t) => {
    const { source, body, clock, faults } = bodyOf(new PassThrough(), { whole: Number.POSITIVE_INFINITY });
    body.resume();
    for (let seconds = 0; seconds < 500; seconds += 1) {
      source.write('x');
      await turn();
      clock.advance(29);
    }
    t.same(faults, []);
    source.end();
  });

  t.test('that the client breaks off is reported', async (t) => {
    const { source, body, faults, clock } = bodyOf();
    body.resume();
    source.destroy();
    await new Promise((resolve) => body.once('close', resolve));
    t.match(faults, [{ message: /went away/ }]);
    t.equal(clock.pending, 0);
  });

  t.test('that is destroyed with an error reports it and leaves the client’s stream open', async (t) => {
    const { source, body, faults } = bodyOf();
    body.destroy(new Error('broken by its reader'));
    t.match(faults, [{ message: 'broken by its reader' }]);
    await new Promise((resolve) => body.once('close', resolve));
    t.notOk(source.destroyed);
    t.ok(source.isPaused(), 'the rest is for the listener');
  });

  t.test('of a stream that has already ended is empty', async (t) => {
    const source = new PassThrough();
    source.end();
    await source.toArray();
    const { body, faults } = bodyOf(source);
    t.same(await body.toArray(), []);
    t.same(faults, []);
  });
});
