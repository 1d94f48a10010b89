/**
 * `npm run demo`: Stonegate with stand-ins for its environment on loopback, until Ctrl-C. With `--tour` it
 * runs the tour and ends with exit code 0 if all checks passed, else 1.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/lib/error-code.ts';
import type { Mode } from '../test/support/testbed.ts';
import { claimFolder } from './claim-folder.ts';
import { openPlayground, type Playground } from './playground.ts';
import { takeTour } from './tour.ts';
import { stepsOf } from './tour-steps.ts';
import { whatToTry } from './what-to-try.ts';

const USAGE = `Usage: npm run demo -- [--arktos] [--tour] [--folder DIR]

  --arktos       the API server simulates an Arktos, not an ordinary cluster
  --tour         walk through it without you, then end; 0 when all of it was right
  --folder DIR   where certificates, configuration, kubeconfig and logs go; .demo, or .demo/tour for the tour
`;

const KNOWN_PORTS = { stonegate: 8443, admin: 9090, portal: 8444 };

async function run(tour: boolean, mode: Mode, folder: string): Promise<number> {
  // Registered first, so that Ctrl-C during the start also ends everything in order.
  const stopped = untilStopSignal();
  const giveBack = await claimFolder(folder);
  try {
    const playground = await openPlayground({ folder, mode, ...(tour ? {} : { ports: KNOWN_PORTS }) });
    try {
      return tour ? await guide(playground) : await host(playground, stopped);
    } finally {
      await playground.close();
    }
  } finally {
    await giveBack();
  }
}

/** Runs the demo until a stop signal, or until Stonegate ends by itself, which is a failure. */
async function host(playground: Playground, stopped: Promise<void>): Promise<number> {
  print(whatToTry(playground));
  const failure = await Promise.race([stopped, playground.ended]);
  print(failure ?? '\nEnding.');
  return failure === undefined ? 0 : 1;
}

async function guide({ mode, url, testbed, tokens, folder }: Playground): Promise<number> {
  print(`Stonegate at ${url}, API server at ${testbed.apiServer.url}; > what goes out, < what comes back`);
  const wrong = await takeTour({
    steps: stepsOf(mode),
    url,
    tokens,
    ca: testbed.authority.cert,
    requests: testbed.apiServer.requests,
    print,
  });
  print('');
  if (wrong.length > 0) print(`Wrong: ${wrong.join('; ')}. Logs: ${folder}`);
  else print(`All of it was right. Logs: ${folder}`);
  return wrong.length === 0 ? 0 : 1;
}

/** A second signal is ignored: npm forwards a Ctrl-C that the terminal has already sent. */
function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve());
  });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const OPTIONS = {
  arktos: { type: 'boolean', default: false },
  tour: { type: 'boolean', default: false },
  folder: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

async function main(args: string[]): Promise<number> {
  let values: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];
  try {
    values = parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}`);
    return 2;
  }
  const { arktos, tour, folder = tour ? '.demo/tour' : '.demo', help } = values;
  if (help) {
    print(USAGE);
    return 0;
  }
  try {
    return await run(tour, arktos ? 'arktos' : 'shared', resolve(folder));
  } catch (error) {
    process.stderr.write(`The demo has failed: ${messageOf(error)}\n`);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
