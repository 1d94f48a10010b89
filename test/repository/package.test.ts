/**
 * The package as a user installs it: packed, unpacked elsewhere, with the dependencies of production alone.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';

const manifest: { version: string; dependencies: Record<string, string>; bin: { stonegate: string } } =
  JSON.parse(readFileSync('package.json', 'utf8'));

/** Runs a program as it runs elsewhere: tap puts its own loader into NODE_OPTIONS of every child. */
function run(command: string, args: readonly string[], cwd: string): string {
  const clean = ['-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE', command, ...args];
  return execFileSync('env', clean, { encoding: 'utf8', cwd, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** @returns where the package was unpacked */
function install(folder: string): string {
  const output = run('npm', ['pack', '--json', '--pack-destination', folder], '.');
  const file = /stonegate-[\w.-]+\.tgz/.exec(output)?.[0] ?? '';
  run('tar', ['-xzf', join(folder, file), '-C', folder], '.');
  const unpacked = join(folder, 'package');
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(unpacked, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve('node_modules', name), link);
  }
  return unpacked;
}

t.test('packed and installed elsewhere, stonegate runs', async (t) => {
  const program = join(install(t.testdir()), manifest.bin.stonegate);
  const stonegate = (...args: string[]) => run(process.execPath, [program, ...args], '/');
  t.match(stonegate('--version'), manifest.version);
  t.match(stonegate('check', '--help'), 'Usage: stonegate check');
  t.match(stonegate('serve', '--help'), 'Usage: stonegate serve');
  t.match(stonegate('manifests', 'rbac', '--mode', 'shared'), 'kind: ClusterRole');
  t.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/);
});

t.test('the image pins its base by digest and runs no script of a package while it is built', async (t) => {
  const file = readFileSync('Dockerfile', 'utf8');
  const stages = [...file.matchAll(/^FROM \S+ AS (\S+)/gm)].map(([, stage]) => stage);
  const bases = [...file.matchAll(/^FROM (\S+)/gm)].map(([, base = '']) => base);
  t.same(
    bases.filter((base) => !stages.includes(base) && !/^[^@]+:[^@]+@sha256:[0-9a-f]{64}$/.test(base)),
    [],
  );
  const installs = [...file.matchAll(/npm (?:ci|install)\b.*/g)].map(([line]) => line);
  t.same(
    installs.filter((line) => !line.includes('--ignore-scripts')),
    [],
  );
});
