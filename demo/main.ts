/**
 * `npm run demo`: Stonegate with stand-ins for its environment on loopback, until Ctrl-C.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { refuseWords, runCommand } from '../src/cli/command.ts';
import { readIfThere } from '../src/lib/file-errors.ts';
import { openPlayground } from './playground.ts';
import { whatToTry } from './what-to-try.ts';

const USAGE = `Usage: npm run demo -- [--folder DIR]

  --folder DIR   where certificates, configuration, kubeconfig and logs go; without it .demo
`;

/** Runs the demo until a stop signal, or until Stonegate ends by itself, which is a failure. */
async function run(folder: string): Promise<number> {
  // Registered first, so that Ctrl-C during the start also ends everything in order.
  const stopped = untilStopSignal();
  const pidFile = await claim(folder);
  try {
    const playground = await openPlayground(folder);
    try {
      console.log(whatToTry(playground));
      const failure = await Promise.race([stopped, playground.ended]);
      console.log(failure ?? '\nEnding.');
      return failure === undefined ? 0 : 1;
    } finally {
      await playground.close();
    }
  } finally {
    await rm(pidFile, { force: true });
  }
}

/** A second demo in the folder would overwrite the configuration of the first. */
async function claim(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'pid');
  const owner = await readIfThere(file);
  if (owner !== undefined && isRunning(Number(owner)))
    throw new Error(`a demo runs in ${folder} already, as process ${owner} (${file}); end it first`);
  await writeFile(file, String(process.pid));
  return file;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A second signal is ignored: npm forwards a Ctrl-C that the terminal has already sent. */
function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve());
  });
}

const argv = process.argv.slice(2);
const io = {
  stdout: (text: string) => void process.stdout.write(text),
  stderr: (text: string) => void process.stderr.write(text),
};
process.exitCode = await runCommand(
  { usage: USAGE, options: { folder: { type: 'string' } }, argv, io },
  ({ folder = '.demo' }, words) => {
    refuseWords(words);
    return run(resolve(folder));
  },
);
