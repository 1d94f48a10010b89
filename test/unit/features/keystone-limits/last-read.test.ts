import t from 'tap';
import { createLastRead } from '../../../../src/features/keystone-limits/last-read.ts';
import { keystoneUnavailable } from '../../../../src/identity/keystone/keystone-http.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';

const MINUTE = 60_000;

/** A Keystone that gives this response, or is unavailable. */
function setUp(keystone: { answer?: number }) {
  const clock = createFakeClock();
  const asked = { times: 0 };
  const last = createLastRead({
    clock,
    logger: silentLogger,
    what: 'limits',
    async read() {
      asked.times += 1;
      if (keystone.answer === undefined) throw keystoneUnavailable(new Error('no answer'));
      return keystone.answer;
    },
  });
  return { last, clock, asked };
}

t.test('D232 while Keystone is unavailable, the last response stays in use, and its age grows', async (t) => {
  const keystone: { answer?: number } = { answer: 10 };
  const { last, clock } = setUp(keystone);
  t.equal(last.age(), undefined, 'not needed yet');
  t.equal(await last.get(), 10);
  delete keystone.answer;
  for (let minute = 1; minute <= 60; minute += 1) {
    clock.advance(MINUTE);
    t.equal(await last.get(), 10);
    t.equal(last.latest(), 10);
  }
  t.equal(last.age(), 3_600);

  keystone.answer = 20;
  clock.advance(MINUTE);
  t.equal(await last.get(), 20);
  t.equal(last.age(), 0);
});

t.test('D232 while Keystone has been unavailable since the start, reading fails', async (t) => {
  const keystone: { answer?: number } = {};
  const { last, clock } = setUp(keystone);
  await t.rejects(last.get(), { code: 'KeystoneUnavailable' });
  t.equal(last.latest(), undefined);
  clock.advance(MINUTE);
  await t.rejects(last.get(), { code: 'KeystoneUnavailable' });
  t.equal(last.age(), 60);
  keystone.answer = 10;
  t.equal(await last.get(), 10, 'it is read as soon as it is needed');
});

t.test('a controller that must not wait gets the response to a read that it began earlier', async (t) => {
  const { last, asked } = setUp({ answer: 10 });
  t.equal(last.latest(), undefined);
  await eventually(async () => last.latest() === 10);
  t.equal(asked.times, 1);
});

t.test('many projects that are provisioned at once cause one request', async (t) => {
  const { last, asked } = setUp({ answer: 10 });
  await Promise.all(Array.from({ length: 50 }, () => last.get()));
  await last.get();
  t.equal(asked.times, 1);
});
