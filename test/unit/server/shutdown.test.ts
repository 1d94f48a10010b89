/** The steps of a shutdown. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createShutdown, onStopSignal, type ShutdownOptions } from '../../../src/server/shutdown.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function createRecordedShutdown(options: Partial<ShutdownOptions> = {}) {
  const steps: string[] = [];
  const clock = createFakeClock();
  const shutdown = createShutdown({
    listener: {
      drain: () => void steps.push('drain'),
      close: async (grace) => void steps.push(`listener ${grace}`),
    },
    drain: 10_000,
    grace: 30_000,
    afterwards: [
      { name: 'upstream', close: () => void steps.push('upstream') },
      { name: 'log', close: () => void steps.push('log') },
    ],
    clock,
    logger: silentLogger,
    ...options,
  });
  return { shutdown, steps, clock };
}

const ALL = ['drain', 'listener 30000', 'upstream', 'log'];

t.test(
  'a shutdown makes the process not ready, drains, stops the listener, then closes the rest',
  async (t) => {
    const { shutdown, steps, clock } = createRecordedShutdown();
    t.equal(shutdown.check.notReadyBecause(), undefined);
    const done = shutdown.begin(true);
    t.equal(shutdown.check.notReadyBecause(), 'shutting down');
    clock.advance(9_999);
    await Promise.resolve();
    t.same(steps, ['drain'], 'requests are accepted until the drain is over');
    clock.advance(1);
    await done;
    t.same(steps, ALL);
  },
);

t.test('the components are closed after the last response', async (t) => {
  const closing = Promise.withResolvers<void>();
  const { shutdown, steps } = createRecordedShutdown({
    listener: { drain: () => undefined, close: () => closing.promise },
  });
  const done = shutdown.begin(false);
  await Promise.resolve();
  t.same(steps, []);
  closing.resolve();
  await done;
  t.same(steps, ['upstream', 'log']);
});

t.test('a component that fails to close does not keep the others open', async (t) => {
  const failures: unknown[] = [];
  const { shutdown, steps } = createRecordedShutdown({
    listener: { drain: () => undefined, close: () => Promise.reject(new Error('stuck')) },
    logger: { ...silentLogger, error: ({ part }) => failures.push(part) },
  });
  await shutdown.begin(false);
  t.same(steps, ['upstream', 'log']);
  t.same(failures, ['listener']);
});

t.test(
  'SIGTERM drains, a second one too; SIGINT ends the drain and waits for the same shutdown',
  async (t) => {
    const { shutdown, steps } = createRecordedShutdown();
    const process = new EventEmitter();
    const begun: Promise<void>[] = [];
    onStopSignal(process, (signal) => begun.push(shutdown.begin(signal === 'SIGTERM')));
    process.emit('SIGTERM');
    await Promise.resolve();
    t.same(steps, ['drain']);
    process.emit('SIGTERM');
    await Promise.resolve();
    t.same(steps, ['drain'], 'a worker gets it from its process group and from the primary');
    process.emit('SIGINT');
    await Promise.all(begun);
    t.equal(begun.length, 3);
    t.same(steps, ALL);
  },
);
