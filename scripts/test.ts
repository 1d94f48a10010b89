/**
 * `npm test`: types, style, unused code, then all tests with the coverage of `src/`. The last line counts
 * assertions, and each of the other checks as one. With `CI=true` a skipped test is a failure.
 *
 * With file names (`npm test -- test/unit/config/load.test.ts`) it runs only those tests.
 */
import { globSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { reportCoverage } from './coverage.ts';
import { run, runTests } from './run.ts';

/** Absolute, because child processes of the tests may run in other folders. */
const COVERAGE_FOLDER = resolve('coverage');
const files = process.argv.slice(2);
const complete = files.length === 0;

const missing = files.filter((file) => !globSync(file).some((found) => found.endsWith('.ts')));
if (missing.length > 0) {
  for (const file of missing)
    console.log(`not ok: there is no test ${file} (a folder's tests are FOLDER/*.test.ts)`);
  console.log(`0 passed, ${missing.length} failed`);
  process.exit(1);
}

const checks: { readonly name: string; readonly ok: boolean }[] = [];
if (complete) {
  const programs = [
    ['types', 'tsc'],
    ['style', 'biome', 'check', '--error-on-warnings', '.'],
    ['unused code', 'knip'],
  ] as const;
  const results = programs.map(async ([name, command, ...args]) => ({
    name,
    ok: (await timed(name, run(command, args))) === 0,
  }));
  checks.push(...(await Promise.all(results)));
}

console.log('# tests');
rmSync(COVERAGE_FOLDER, { recursive: true, force: true });
const totals = await timed('tests', runTests(files, `${COVERAGE_FOLDER}/raw`));

if (complete) {
  console.log('# coverage');
  const enough = await timed('coverage', reportCoverage(COVERAGE_FOLDER));
  // If tests were skipped, the code that they test is not covered.
  if (enough || totals.skipped === 0) checks.push({ name: 'coverage', ok: enough });
  else console.log(`coverage is not held against this run: ${totals.skipped} tests were skipped`);
}

const broken = checks.filter((check) => !check.ok);
for (const { name } of broken) console.log(`not ok: ${name}`);
const skipsFail = process.env.CI === 'true' && totals.skipped > 0;
if (skipsFail) console.log('not ok: tests were skipped, and CI allows none');

const passed = totals.passed + checks.length - broken.length;
const failed = totals.failed + broken.length + (skipsFail ? totals.skipped : 0);
const skipped = skipsFail || totals.skipped === 0 ? '' : `, ${totals.skipped} skipped`;
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exitCode = failed === 0 ? 0 : 1;

/** Says how long a stage took: for CONTRIBUTING.md. */
async function timed<T>(name: string, work: Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await work;
  if (complete) console.log(`# ${name} took ${Math.round((performance.now() - from) / 1000)} s`);
  return result;
}
