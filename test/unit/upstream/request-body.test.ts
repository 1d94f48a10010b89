import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { RequestBody } from '../../../src/upstream/request-body.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { codeOf } from '../../support/raw-http/relay.ts';

function bodyOf<S extends Readable = PassThrough>(
  maxBytes = 100,
  source: S | PassThrough = new PassThrough({ highWaterMark: 1024 * 1024 }),
  { upstreamStall = 60, whole = 1_000 } = {},
) {
  const clock = createFakeClock(0);
  const faults: Error[] = [];
  const body = new RequestBody(source, {
    clock,
    maxBytes,
    clientStall: 30,
    whole,
    upstreamStall,
    onBytes() {},
    onFault: (fault) => faults.push(fault),
  });
  return { clock, source, faults, body };
}

t.test('a request body', async (t) => {
  t.test('passes all bytes and ends', async (t) => {
    const { source, body, clock, faults } = bodyOf();
    source.write('one ');
    source.end('two');
    t.equal(Buffer.concat(await body.toArray()).toString(), 'one two');
    t.equal(clock.pending, 0);
    t.same(faults, []);
  });

  t.test('of exactly the limit passes', async (t) => {
    const { source, body, faults } = bodyOf(7);
    source.end('one two');
    t.equal(Buffer.concat(await body.toArray()).toString(), 'one two');
    t.same(faults, []);
  });

  t.test('of one byte more than the limit does not', async (t) => {
    const { source, body, faults, clock } = bodyOf(6);
    source.end('one two');
    body.resume();
    await new Promise((resolve) => body.once('close', resolve));
    t.same(faults.map(codeOf), ['BodyTooLarge']);
    t.equal(clock.pending, 0);
  });

  t.test('is neither read nor waited for before anybody wants it', async (t) => {
    let reads = 0;
    const source = new Readable({
      read() {
        reads += 1;
        this.push('leave to go on');
        this.push(null);
      },
    });
    const { body, clock } = bodyOf(100, source);
    await new Promise(setImmediate);
    t.equal(reads, 0);
    t.equal(clock.pending, 0);
    t.equal(Buffer.concat(await body.toArray()).toString(), 'leave to go on');
  });

  t.test('wanted and not coming is the fault of the client', async (t) => {
    const { body, clock, faults } = bodyOf();
    body.read(0);
    clock.advance(29);
    t.same(faults, []);
    clock.advance(1);
    t.same(faults.map(codeOf), ['BodyTimeout']);
  });

  t.test('that drips for longer than the whole of it may take is the fault of the client', async (t) => {
    const { source, body, clock, faults } = bodyOf(1_000, new PassThrough(), { whole: 100 });
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
  });

  t.test('may drip for as long as it likes where nothing limits the whole of it', async (t) => {
    const { source, body, clock, faults } = bodyOf(1_000, new PassThrough(), {
      whole: Number.POSITIVE_INFINITY,
    });
    body.resume();
    for (let seconds = 0; seconds < 500; seconds += 1) {
      source.write('x');
      await turn();
      clock.advance(29);
    }
    t.same(faults, []);
    source.end();
  });

  t.test('come and not wanted is the fault of the API server', async (t) => {
    const { source, body, clock, faults } = bodyOf(1024 * 1024);
    body.read(0);
    source.write(Buffer.alloc(200_000));
    await eventually(() => body.readableLength === 200_000 && source.isPaused());
    clock.advance(59);
    t.same(faults, []);
    clock.advance(1);
    t.same(faults.map(codeOf), ['UpstreamTimeout']);
  });

  t.test('that breaks off is told', async (t) => {
    const { source, body, faults, clock } = bodyOf();
    body.resume();
    source.destroy();
    await new Promise((resolve) => body.once('close', resolve));
    t.match(faults, [{ message: /went away/ }]);
    t.equal(clock.pending, 0);
  });

  t.test('destroyed with an error tells it, leaves the client alive and raises nothing', async (t) => {
    const { source, body, faults } = bodyOf();
    body.destroy(new Error('broken by its reader'));
    t.match(faults, [{ message: 'broken by its reader' }]);
    await new Promise((resolve) => body.once('close', resolve));
    t.notOk(source.destroyed);
    t.ok(source.isPaused(), 'the rest is for the listener');
  });

  t.test('whose source had ended before is empty', async (t) => {
    const source = new PassThrough();
    source.end();
    await source.toArray();
    const { clock } = bodyOf();
    const body = new RequestBody(source, {
      clock,
      maxBytes: 1,
      clientStall: 1,
      whole: 1,
      upstreamStall: 1,
      onBytes() {},
      onFault: (fault) => t.fail(fault.message),
    });
    t.same(await body.toArray(), []);
  });
});
