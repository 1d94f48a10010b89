/**
 * The previous version of Stonegate, from the history of this repository, for tests in which it shares Redis
 * and a configuration with the current version. Node runs its sources directly, so nothing is built.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

/** The commit that users upgrade from. Must be updated after each merge into the main branch. */
const PREVIOUS = 'bdd4e4258994c583ca62366b59147a76b80fd5ff';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PARTS = ['src', 'config/samples', 'package.json', 'package-lock.json', 'tsconfig.json'];

function git(...words: string[]) {
  return execFileSync('git', ['-C', ROOT, ...words], {
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * @returns the path of its `main.ts`; removed with the test
 * @throws Error if this is not a clone with the whole history
 */
export function checkOutPrevious(t: Pick<Test, 'teardown'>) {
  requireHistory();
  const folder = mkdtempSync(join(tmpdir(), 'stonegate-previous-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', PREVIOUS, ...PARTS) });
  const modules = join(ROOT, 'node_modules');
  if (
    productionPackages(join(folder, 'package-lock.json')) ===
    productionPackages(join(ROOT, 'package-lock.json'))
  )
    symlinkSync(modules, join(folder, 'node_modules'));
  else execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' });
  return join(folder, 'src', 'main.ts');
}

function requireHistory() {
  try {
    git('cat-file', '-e', `${PREVIOUS}^{commit}`);
  } catch (cause) {
    throw new Error(
      `the commit ${PREVIOUS} is missing: this test needs a clone with the whole history (git fetch --unshallow)`,
      { cause },
    );
  }
}

/** The production packages of a lock file, and their versions. */
function productionPackages(lockFile: string) {
  const { packages }: { packages: Record<string, { dev?: boolean; version?: string; integrity?: string }> } =
    JSON.parse(readFileSync(lockFile, 'utf8'));
  const used = Object.entries(packages).filter(([name, { dev }]) => name !== '' && dev !== true);
  return JSON.stringify(used.map(([name, { version, integrity }]) => [name, version, integrity]).sort());
}
