/**
 * Runs a program, or the tests. Each file is a process that prints TAP: one line per file, and details of
 * failures. tap's own runner is not used, since it adds half a second of its loaders to each file.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { Parser, type Result } from 'tap-parser';
import { stringify } from 'yaml';

/**
 * Shared by all processes of the tests: without it, each strips the types of all files that it loads, which
 * is half of what a short test costs. It changes the counted lines by less than 0.1 %.
 */
const COMPILE_CACHE = resolve('node_modules/.cache/compile');

/** What tap-parser says of a program without output, such as one that uses another test framework. */
const NO_TESTS = 'no tests found';

/** Files at once: many tests wait for other processes, so that two would leave two processors idle. */
const JOBS = 3;

/** In seconds, of one file. It ends what hangs: a busy machine takes thirty times as long as an idle one. */
const TIMEOUT = 900;

export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** @returns the exit code */
export async function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  return await ended(child);
}

/**
 * @param files paths or patterns; empty means all tests
 * @param coverage the folder for V8's raw coverage, of child processes too
 */
export async function runTests(files: readonly string[], coverage: string): Promise<Totals> {
  const waiting = globSync(files.length > 0 ? [...files] : 'test/**/*.test.ts').sort();
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const { passed, failed, skipped } = await runFile(file, coverage);
      totals.passed += passed;
      totals.failed += failed;
      totals.skipped += skipped;
    }
  };
  await Promise.all(Array.from({ length: JOBS }, work));
  return totals;
}

async function runFile(file: string, coverage: string): Promise<Totals> {
  const from = performance.now();
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  const parser = new Parser({ name: file });
  follow(parser, totals, []);
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT * 1_000,
    killSignal: 'SIGKILL',
    env: {
      ...process.env,
      NODE_V8_COVERAGE: coverage,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      TAP: '1',
      TAP_TIMEOUT: String(TIMEOUT),
    },
  });
  child.stdout.pipe(parser);
  const code = await ended(child);
  // The process died although each of its tests passed.
  if (code !== 0 && totals.failed === 0) {
    console.log(`not ok: ${file} ended with ${code}`);
    totals.failed += 1;
  }
  const seconds = Math.round((performance.now() - from) / 1_000);
  console.log(`${totals.failed === 0 ? 'ok' : 'NOT OK'} ${file}, ${seconds} s`);
  return totals;
}

/** A test file, or a test within one. */
function follow(parser: Parser, totals: Totals, above: readonly string[]): void {
  const names = [...above, parser.name];
  const before = { ...totals };
  parser.on('child', (child: Parser) => follow(child, totals, names));
  parser.on('assert', (result: Result) => {
    if (!result.closingTestPoint) count(result, totals, names);
  });
  parser.on('complete', (results) => {
    // A test that failed although no assertion in it did: it timed out, died, or has no assertion.
    if (!results.ok && totals.failed === before.failed) {
      console.log(`not ok: ${names.join(' > ')}`);
      totals.failed += 1;
    }
    if (results.plan.skipAll && results.ok) countEmpty(results.plan.skipReason, totals, names);
  });
}

/**
 * Either skipped as a whole, or a passed test without assertions, such as a property that throws on failure.
 */
function countEmpty(skipReason: string, totals: Totals, names: readonly string[]): void {
  if (skipReason === '' && names.length > 1) totals.passed += 1;
  else if (skipReason === NO_TESTS) {
    totals.failed += 1;
    console.log(`not ok: ${names.join(' > ')}: no tests of tap were found`);
  } else {
    totals.skipped += 1;
    console.log(`skipped: ${names.join(' > ')}: ${skipReason || 'no test in it'}`);
  }
}

function count(result: Result, totals: Totals, names: readonly string[]): void {
  const name = [...names, result.name].join(' > ');
  if (result.skip || result.todo) {
    totals.skipped += 1;
    console.log(`skipped: ${name}: ${String(result.skip || result.todo)}`);
  } else if (result.ok) totals.passed += 1;
  else {
    totals.failed += 1;
    console.log(`not ok: ${name}`);
    if (result.diag) console.log(stringify(result.diag).replace(/^/gm, '    '));
  }
}

async function ended(child: ReturnType<typeof spawn>): Promise<number> {
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}
