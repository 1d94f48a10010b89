/** The steps of a shutdown. */
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createShutdown, type ShutdownOptions } from '../../../src/server/shutdown.ts';
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
