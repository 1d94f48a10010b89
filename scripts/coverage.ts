/**
 * The line coverage of `src/`, including files that no test loads, without files that contain only types.
 */
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { relative } from 'node:path';
import { run } from './run.ts';

const MINIMUM = 95;

/** @returns whether enough is covered */
export async function reportCoverage(folder: string): Promise<boolean> {
  const code = await run('c8', [
    'report',
    '--all',
    '--src=src',
    '--include=src/**/*.ts',
    '--extension=.ts',
    '--exclude=node_modules/**',
    ...typeFiles().map((file) => `--exclude=${file}`),
    '--reporter=json-summary',
    `--temp-directory=${folder}/raw`,
    `--reports-dir=${folder}`,
  ]);
  if (code !== 0) return false;
  const { total, ...files } = readSummary(`${folder}/coverage-summary.json`);
  for (const [file, { lines }] of Object.entries(files)) {
    if (lines.pct < MINIMUM) console.log(`${String(lines.pct).padStart(6)} % ${relative('.', file)}`);
  }
  const covered = total?.lines ?? { pct: 0, covered: 0, total: 0 };
  const count = Object.keys(files).length;
  console.log(
    `lines covered: ${covered.pct} % (${covered.covered} of ${covered.total} in ${count} files of src/, at least ${MINIMUM} % wanted)`,
  );
  return covered.pct >= MINIMUM;
}

interface Lines {
  readonly pct: number;
  readonly covered: number;
  readonly total: number;
}

function readSummary(file: string): Record<string, { readonly lines: Lines }> {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function typeFiles(): string[] {
  return globSync('src/**/*.ts').filter((file) => {
    const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
    return code.replace(/\/\*.*?\*\/|\/\/[^\n]*|\s/gs, '').replace('export{};', '') === '';
  });
}
