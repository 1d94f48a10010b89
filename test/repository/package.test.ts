/**
 * The package as somebody else installs it: packed, unpacked elsewhere, with the dependencies of production alone.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';

const manifest: { version: string; dependencies: Record<string, string>; bin: { stonegate: string } } =
  JSON.parse(readFileSync('package.json', 'utf8'));

/** @returns where the package was unpacked */
function install(folder: string): string {
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { encoding: 'utf8' });
  const file = /stonegate-[\w.-]+\.tgz/.exec(output)?.[0] ?? '';
  execFileSync('tar', ['-xzf', join(folder, file), '-C', folder]);
  const unpacked = join(folder, 'package');
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(unpacked, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve('node_modules', name), link);
  }
  return unpacked;
}

t.test('packed and installed elsewhere, stonegate runs', async (t) => {
  const unpacked = install(t.testdir());
  const stonegate = (...args: string[]) =>
    execFileSync(process.execPath, [join(unpacked, manifest.bin.stonegate), ...args], {
      encoding: 'utf8',
      cwd: '/',
    });
  t.match(stonegate('--version'), manifest.version);
  t.match(stonegate('check', '--help'), 'Usage: stonegate check');
  t.match(stonegate('manifests', 'rbac', '--mode', 'shared'), 'kind: ClusterRole');
  t.match(readFileSync(join(unpacked, manifest.bin.stonegate), 'utf8'), /^#!\/usr\/bin\/env node\n/);
});
