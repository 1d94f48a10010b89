import fc from 'fast-check';
import t from 'tap';
import { toStatus } from '../../../src/errors/to-status.ts';
import { parseDuration } from '../../../src/lib/go-time.ts';
import { fromRawHeaders, headerTokens, headerValue, headerValues } from '../../../src/lib/header-list.ts';
import { InFlightCounter } from '../../../src/lib/in-flight.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { SingleFlight } from '../../../src/lib/single-flight.ts';
import { createStartupProbe } from '../../../src/lib/startup-probe.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('durations are read as Kubernetes writes them', async (t) => {
  for (const [text, milliseconds] of [
    ['0', 0],
    ['60s', 60_000],
    ['1m30s', 90_000],
    ['250ms', 250],
    ['1.5h', 5_400_000],
  ] as const) {
    t.equal(parseDuration(text), milliseconds, text);
  }
  for (const text of ['', '60', '-1s', '1d', 's', '1 s', 'NaNs', `${'9'.repeat(30)}h`])
    t.equal(parseDuration(text), undefined, text);
});

t.test('whatever is written, a duration is a whole number of milliseconds or none', async () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const parsed = parseDuration(text);
      return parsed === undefined || (Number.isSafeInteger(parsed) && parsed >= 0);
    }),
  );
});

t.test('headers keep order, spelling and repeats', async (t) => {
  const list = fromRawHeaders([':path', '/', 'A', '1', 'a', '2', 'Connection', 'Close, X-Y']);
  t.same(list, [
    ['A', '1'],
    ['a', '2'],
    ['Connection', 'Close, X-Y'],
  ]);
  t.same(headerValues(list, 'a'), ['1', '2']);
  t.equal(headerValue(list, 'a'), '1');
  t.equal(headerValue(list, 'b'), undefined);
  t.same(headerTokens(list, 'connection'), ['close', 'x-y']);
});

t.test('who asks while the work is under way shares it; who asks after starts anew', async (t) => {
  const flight = new SingleFlight<number>();
  let runs = 0;
  const work = async () => {
    runs += 1;
    return runs;
  };
  t.same(
    await Promise.all([flight.do('k', work), flight.do('k', work), flight.do('other', work)]),
    [1, 1, 2],
  );
  t.equal(await flight.do('k', work), 3);
  t.equal(flight.size, 0);
});

t.test('work that fails fails for all callers that wait, and is not cached', async (t) => {
  const flight = new SingleFlight<number>();
  const fails = () => Promise.reject(new Error('down'));
  const both = await Promise.allSettled([flight.do('k', fails), flight.do('k', fails)]);
  t.same(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.equal(await flight.do('k', async () => 1), 1);
});

t.test('a counter is drained when the last request in flight is released', async (t) => {
  const counter = new InFlightCounter();
  await counter.drained();
  const seen: string[] = [];
  const [a, b] = [counter.enter(), counter.enter()];
  const drained = counter.drained().then(() => seen.push('drained'));
  a.release();
  a.release();
  await Promise.resolve();
  t.same(seen, []);
  b.release();
  await drained;
  t.same(seen, ['drained']);
});

t.test('a backend is asked until it has answered once, ever less often, then no more', async (t) => {
  const clock = createFakeClock();
  const said: string[] = [];
  let asked = 0;
  const contact = createStartupProbe({
    name: 'keystone',
    async contact() {
      asked += 1;
      if (asked < 3) throw new Error('connection refused');
    },
    clock,
    logger: {
      ...silentLogger,
      warn: (_, message) => said.push(message),
      info: (_, message) => said.push(message),
    },
  });
  t.equal(contact.notReadyBecause(), 'not reached yet');
  contact.start();
  await new Promise(setImmediate);
  t.equal(contact.notReadyBecause(), 'connection refused');
  clock.advance(1_000);
  await new Promise(setImmediate);
  t.equal(asked, 2);
  clock.advance(2_000);
  await new Promise(setImmediate);
  t.equal(contact.notReadyBecause(), undefined);
  clock.advance(600_000);
  t.equal(asked, 3);
  t.same(said, ['a backend is not reached yet', 'the backend was reached'], 'once for each reason');
});

t.test('a contact that was stopped asks no more', async (t) => {
  const clock = createFakeClock();
  let asked = 0;
  const contact = createStartupProbe({
    name: 'keystone',
    contact: () => {
      asked += 1;
      return Promise.reject(new Error('down'));
    },
    clock,
    logger: silentLogger,
  });
  contact.start();
  contact.stop();
  await new Promise(setImmediate);
  clock.advance(600_000);
  t.equal(asked, 1);
});

t.test('an unexpected error shows the client nothing but the audit ID', async (t) => {
  const { status } = toStatus(new TypeError('secret detail'), 'a-1');
  t.equal(status.code, 500);
  t.notMatch(JSON.stringify(status), 'secret');
  t.match(status.details?.causes, [{ message: 'InternalError' }, { reason: 'AuditID', message: 'a-1' }]);
});
