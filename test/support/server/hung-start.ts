/** A program whose start hangs at opening the file it is given; its limit is over at once. */
import { open } from 'node:fs/promises';
import process from 'node:process';
import { exitAtOnce, StartLimit } from '../../../src/app/start-limit.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/observability/log.ts';

const [, , file = ''] = process.argv;
const limit = new StartLimit({
  clock: { ...systemClock, after: (_, action) => systemClock.after(0, action) },
  logger: createLogger('error'),
  exit: exitAtOnce,
});
limit.begin(`opening ${file}`);
await open(file, 'w');
