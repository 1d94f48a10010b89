/** The steps of a shutdown. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createShutdown, onStopSignal } from '../../../src/server/shutdown.ts';

t.test(
  'a shutdown makes the process not ready, drains the listener, then closes the components in order',
  async (t) => {
    const steps: string[] = [];
    const closing = Promise.withResolvers<void>();
    const shutdown = createShutdown({
      listener: {
        close: async (grace) => {
          steps.push(`listener ${grace}`);
          await closing.promise;
        },
      },
      grace: 30_000,
      afterwards: [
        { name: 'upstream', close: () => void steps.push('upstream') },
        { name: 'log', close: () => void steps.push('log') },
      ],
      logger: silentLogger,
    });
    t.equal(shutdown.check.notReadyBecause(), undefined);
    const done = shutdown.begin();
    t.equal(shutdown.check.notReadyBecause(), 'shutting down');
    t.same(steps, ['listener 30000']);
    closing.resolve();
    await done;
    t.same(steps, ['listener 30000', 'upstream', 'log']);
  },
);

t.test('a component that fails to close does not keep the others open', async (t) => {
  const steps: string[] = [];
  const failures: unknown[] = [];
  const shutdown = createShutdown({
    listener: { close: () => Promise.reject(new Error('stuck')) },
    grace: 0,
    afterwards: [{ name: 'upstream', close: () => void steps.push('upstream') }],
    logger: { ...silentLogger, error: ({ part }) => failures.push(part) },
  });
  await shutdown.begin();
  t.same(steps, ['upstream']);
  t.same(failures, ['listener']);
});

t.test('a second signal waits for the same shutdown', async (t) => {
  let closed = 0;
  const shutdown = createShutdown({
    listener: {
      close: async () => {
        closed += 1;
      },
    },
    grace: 0,
    afterwards: [],
    logger: silentLogger,
  });
  const process = new EventEmitter();
  const begun: Promise<void>[] = [];
  onStopSignal(process, () => begun.push(shutdown.begin()));
  process.emit('SIGTERM');
  process.emit('SIGINT');
  await Promise.all(begun);
  t.equal(begun.length, 2);
  t.equal(closed, 1);
});
