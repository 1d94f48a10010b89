/**
 * `npm run mutants -- [--tests] [--every=N] FOLDER…`: changes one decision at a time in the files of a folder
 * of `src/`, runs the unit tests and properties that reach it, and lists the changes that none of them
 * notices. With `--tests` it lists the tests of the folder that notice no change that others do not notice:
 * they may be superfluous.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { API } from 'typescript/unstable/sync';
import { type Mutation, mutationsOf } from './mutants/mutations.ts';
import type { Order, Report } from './mutants/worker.ts';

/** In milliseconds. A slower test is not used, and a property of thousands of cases is. */
const SLOWEST = 6_000;

/** Files of tests for one file, the nearest first. */
const MOST_TESTS = 25;

/** Runs after which a worker is replaced, since modules that were loaded stay in its memory. */
const RUNS_OF_A_WORKER = 500;

const byTests = process.argv.includes('--tests');
/** With `--every=N` only every Nth mutant. */
const every = Number(/--every=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 1);
const folders = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const targets = folders.flatMap((name) => globSync([`src/${name}/**/*.ts`, `src/${name}.ts`])).sort();
if (targets.length === 0) throw new Error('usage: npm run mutants -- [--tests] FOLDER… (of src/)');

const importers = readImporters();
const project = new API({ cwd: resolve('.') })
  .updateSnapshot({ openProjects: [resolve('tsconfig.json')] })
  .getProjects()[0];
if (!project) throw new Error('tsconfig.json is not a project');

interface Baseline {
  readonly milliseconds: number;
  readonly ran: NonNullable<Report['ran']>;
  readonly names: readonly string[];
}
/** Undefined for a test that cannot run in this way, such as one that fails in a process that others used. */
const baselines = new Map<string, Baseline | undefined>();
/** Mutant → the tests that noticed it, as `FILE > NAME`. */
const noticed = new Map<string, readonly string[]>();
let worker: ChildProcess | undefined;
let runs = 0;

for (const file of targets) await testFile(file);
worker?.kill('SIGKILL');
const missed = [...noticed].filter(([, by]) => by.length === 0);
console.log(`all: ${score(noticed.size - missed.length, noticed.size)}`);
if (byTests) for (const test of superfluous()) console.log(`superfluous? ${test}`);
process.exit();

async function testFile(file: string): Promise<void> {
  const source = project?.program.getSourceFile(resolve(file));
  if (!source) throw new Error(`${file} is not in the project`);
  const mutations = mutationsOf(source).filter((_, at) => at % every === 0);
  if (mutations.length === 0) return;
  const tests = testsOf(file, closure(file));
  const reload = closure(file, 'tap');
  for (const test of tests) if (!baselines.has(test)) baselines.set(test, await baseline(test, reload));
  const survivors: string[] = [];
  for (const mutation of mutations) {
    const before = source.text.slice(0, mutation.from).split('\n');
    const was = source.text.slice(mutation.from, mutation.to).replace(/\s+/g, ' ');
    const column = (before.at(-1)?.length ?? 0) + 1;
    const mutant = `${file}:${before.length}:${column}: ${was} → ${mutation.by}`;
    const text = source.text.slice(0, mutation.from) + mutation.by + source.text.slice(mutation.to);
    const by: string[] = [];
    for (const test of tests) {
      if (by.length > 0 && !byTests) break;
      if (!reaches(baselines.get(test), file, mutation)) continue;
      const report = await run(
        { test, reload, mutant: { file, text } },
        baselines.get(test)?.milliseconds ?? 0,
      );
      by.push(...report.failed.map((name) => `${test} > ${name}`));
    }
    noticed.set(mutant, by);
    if (by.length === 0) survivors.push(mutant);
  }
  console.log(`${file}: ${score(mutations.length - survivors.length, mutations.length)}`);
  for (const mutant of survivors) console.log(`  survived: ${mutant}`);
}

function score(killed: number, all: number): string {
  return `${((100 * killed) / all).toFixed(1)} % (${killed} of ${all})`;
}

/** Whether the place ran in the test; what runs when the module is loaded always did. */
function reaches(of: Baseline | undefined, file: string, { from }: Mutation): boolean {
  const around = of?.ran[file]?.filter(([start, end]) => start <= from && from < end) ?? [];
  const inner = around.sort((one, other) => one[1] - one[0] - (other[1] - other[0]))[0];
  return of !== undefined && (inner === undefined || inner[2] > 0);
}

async function baseline(test: string, reload: readonly string[]): Promise<Baseline | undefined> {
  // The first run loads everything, which the runs with mutants do not.
  const first = await run({ test, reload }, SLOWEST);
  const from = performance.now();
  const { names, failed, ran } = first.failed.length > 0 ? first : await run({ test, reload }, SLOWEST);
  const milliseconds = performance.now() - from;
  if (ran && failed.length === 0 && milliseconds < SLOWEST) return { milliseconds, names, ran };
  const reason =
    failed.length > 0 ? `fails here: ${failed.join(', ')}` : `takes ${Math.round(milliseconds)} ms`;
  console.log(`not used: ${test}, which ${reason}`);
  return undefined;
}

/** A test that does not end counts as failed, and so does one that ends its process. */
async function run(order: Order, milliseconds: number): Promise<Report> {
  runs += 1;
  if (runs % RUNS_OF_A_WORKER === 0) worker?.kill('SIGKILL');
  if (!worker?.connected || worker.killed) {
    worker = fork(join(import.meta.dirname, 'mutants/worker.ts'), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
  }
  const used = worker;
  return await new Promise<Report>((done) => {
    const end = (report: Report): void => {
      clearTimeout(timer);
      used.removeAllListeners().on('error', () => undefined);
      done(report);
    };
    const fail = (): void => {
      used.kill('SIGKILL');
      end({ names: [], failed: ['(the process)'] });
    };
    const timer = setTimeout(fail, 4 * milliseconds + 2_000);
    used.on('exit', fail).on('error', fail);
    // tap sends messages too.
    used.on('message', (report: Partial<Report>) => {
      if (report.failed) end(report as Report);
    });
    used.send(order);
  });
}

/** The files and those that import them, directly or not. */
function closure(...files: readonly string[]): readonly string[] {
  const found = new Set(files);
  for (const path of found) for (const importer of importers.get(path) ?? []) found.add(importer);
  return [...found];
}

/** The file's own tests first, then those of its folder that reach it, then others by their distance. */
function testsOf(file: string, reaching: readonly string[]): readonly string[] {
  const own = file.replace(/^src/, 'test/unit').replace(/\.ts$/, '.test.ts');
  const near = reaching.filter((path) => path.startsWith(`${dirname(own)}/`));
  const all = [own, ...near, ...reaching].filter((path) =>
    /^test\/(unit|properties)\/.*\.test\.ts$/.test(path),
  );
  return [...new Set(all)].filter((path) => reaching.includes(path)).slice(0, MOST_TESTS);
}

/** File → the files of `src/` and `test/` that import it, other than for types. */
function readImporters(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const path of globSync(['src/**/*.ts', 'test/**/*.ts'])) {
    const imports = readFileSync(path, 'utf8').matchAll(
      /^(?:import|export)\s+(?!type\s)(?:[^'";]*?\sfrom\s+)?'(tap|\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
    );
    for (const [, still = '', dynamic = still] of imports) {
      const target = dynamic === 'tap' ? dynamic : normalize(join(dirname(path), dynamic));
      found.set(target, [...(found.get(target) ?? []), path]);
    }
  }
  return found;
}

/** Tests without which every mutant is still noticed, those that notice the fewest first. */
function superfluous(): readonly string[] {
  const kills = new Map<string, string[]>();
  for (const [test, of] of baselines) for (const name of of?.names ?? []) kills.set(`${test} > ${name}`, []);
  for (const [mutant, by] of noticed) for (const test of by) kills.get(test)?.push(mutant);
  const left = new Map([...noticed].map(([mutant, by]) => [mutant, by.length]));
  const found: string[] = [];
  for (const [test, mutants] of [...kills].sort((one, other) => one[1].length - other[1].length)) {
    const own = folders.some(
      (name) => test.startsWith(`test/unit/${name}/`) || test.startsWith(`test/unit/${name}.test.ts`),
    );
    if (!own || mutants.some((mutant) => (left.get(mutant) ?? 0) < 2)) continue;
    for (const mutant of mutants) left.set(mutant, (left.get(mutant) ?? 0) - 1);
    found.push(`${test} (${mutants.length})`);
  }
  return found;
}
