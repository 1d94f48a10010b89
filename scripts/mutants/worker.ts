/**
 * Runs test files in one process again and again, each time with one mutant: only the mutated file, the
 * files that import it, and the tests are loaded anew.
 */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Test, TestBase } from 'tap';

export interface Order {
  readonly test: string;
  /** Undefined runs the unchanged code and reports what of it ran. */
  readonly mutant?: { readonly file: string; readonly text: string };
  /** The mutated file, and the files that import it or tap, directly or not. */
  readonly reload: readonly string[];
}

export interface Report {
  readonly names: readonly string[];
  /** The names of those that failed. */
  readonly failed: readonly string[];
  /** File → [from, to, count] of functions and blocks, the outer before the inner. */
  readonly ran?: Readonly<Record<string, readonly (readonly [number, number, number])[]>>;
}

const ROOT = pathToFileURL(`${resolve('.')}/`).href;
const current = { run: 0, reload: new Set<string>(), mutant: { url: '', text: '' } };
const code = new Map<string, string>();

const bare = (url: string): string => url.replace(/\?run=\d+$/, '');
const tests = new Map<string, TestBase>();
Object.assign(globalThis, { testsOfMutants: tests });

registerHooks({
  resolve(specifier, context, next) {
    const again = (url: string): string => `${url}?run=${current.run}`;
    if (specifier === 'tap' && context.parentURL?.startsWith(`${ROOT}test/`))
      return { url: again('mutants:tap'), format: 'module', shortCircuit: true };
    const found = next(specifier, context);
    return current.reload.has(found.url) ? { ...found, url: again(found.url) } : found;
  },
  load(url, context, next) {
    const name = bare(url);
    if (name === 'mutants:tap') {
      const source = `export default globalThis.testsOfMutants.get('${current.run}');`;
      return { format: 'module', source, shortCircuit: true };
    }
    if (!name.startsWith(ROOT) || !name.endsWith('.ts') || name.includes('/node_modules/'))
      return next(url, context);
    return { format: 'module', source: strip(name), shortCircuit: true };
  },
});

function strip(url: string): string {
  if (url === current.mutant.url) return stripTypeScriptTypes(current.mutant.text);
  const source = code.get(url) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
  code.set(url, source);
  return source;
}

const inspector = new Session();
inspector.connect();

async function runTest({ test: file, mutant, reload }: Order): Promise<Report> {
  const url = (path: string): string => `${ROOT}${path}`;
  current.run += 1;
  current.reload = new Set(reload.map(url));
  current.mutant = mutant ? { url: url(mutant.file), text: mutant.text } : { url: '', text: '' };
  if (!mutant) takeCoverage();
  const names: string[] = [];
  const failed: string[] = [];
  const test = new Test({ name: file, cb: async () => void (await import(url(file))) });
  tests.clear();
  tests.set(String(current.run), test);
  follow(test, '', names, failed);
  test.resume();
  await new Promise<void>((done) => test.runMain(done));
  if (!test.passing() && failed.length === 0) failed.push('(the file)');
  return mutant ? { names, failed } : { names, failed, ran: takeCoverage() };
}

/** Collects the names of the tests that contain no other tests. */
function follow(test: TestBase, above: string, names: string[], failed: string[]): void {
  test.on('subtestAdd', (part) => {
    const name = `${above}${part.name}`;
    if (part instanceof TestBase) follow(part, `${name} > `, names, failed);
  });
  test.on('subtestEnd', (part) => {
    const name = `${above}${part.name}`;
    if (names.some((inner) => inner.startsWith(`${name} > `))) return;
    names.push(name);
    if (!part.passing()) failed.push(name);
  });
}

/** What ran since it was last taken. */
function takeCoverage(): NonNullable<Report['ran']> {
  const ran: Record<string, [number, number, number][]> = {};
  inspector.post('Profiler.takePreciseCoverage', (_error, answer) => {
    for (const { url, functions } of answer.result) {
      if (!url.startsWith(`${ROOT}src/`)) continue;
      // The first is the module itself, which ran when it was loaded.
      ran[bare(url).slice(ROOT.length)] = functions
        .slice(1)
        .flatMap(({ ranges }) =>
          ranges.map(
            ({ startOffset, endOffset, count }) =>
              [startOffset, endOffset, count] as [number, number, number],
          ),
        );
    }
  });
  return ran;
}

inspector.post('Profiler.enable');
// From the start, since V8 counts blocks only of functions that it compiles afterwards.
inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => {
  void runTest(order).then((report) => process.send?.(report));
});
