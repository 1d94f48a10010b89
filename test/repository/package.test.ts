/** The package as a user installs it: packed, unpacked elsewhere, with only its production dependencies. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';
import { type PackageLock, readLock } from '../../scripts/package-lock.ts';

const manifest: { version: string; dependencies: Record<string, string>; bin: { stonegate: string } } =
  JSON.parse(readFileSync('package.json', 'utf8'));

/** Runs a program as it runs outside of tap, which adds its loader to NODE_OPTIONS of every child process. */
function run(command: string, args: readonly string[], cwd: string): string {
  const clean = ['-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE', command, ...args];
  return execFileSync('env', clean, { encoding: 'utf8', cwd, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** @returns the packed file */
function pack(source: string, folder: string): string {
  const output = run('npm', ['pack', '--json', '--pack-destination', folder], source);
  return join(folder, /stonegate-[\w.-]+\.tgz/.exec(output)?.[0] ?? '');
}

/** @returns where the package was unpacked */
function install(folder: string): string {
  run('tar', ['-xzf', pack('.', folder), '-C', folder], '.');
  const unpacked = join(folder, 'package');
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(unpacked, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve('node_modules', name), link);
  }
  return unpacked;
}

t.test('stonegate runs when it is packed and installed elsewhere', async (t) => {
  const program = join(install(t.testdir()), manifest.bin.stonegate);
  const stonegate = (...args: string[]) => run(process.execPath, [program, ...args], '/');
  t.match(stonegate('--version'), manifest.version);
  t.match(stonegate('check', '--help'), 'Usage: stonegate check');
  t.match(stonegate('serve', '--help'), 'Usage: stonegate serve');
  t.match(stonegate('manifests', 'rbac', '--mode', 'shared'), 'kind: ClusterRole');
  t.match(readFileSync(program, 'utf8'), /^#!\/usr\/bin\/env node\n/);
});

t.test('the image pins its base by digest, and its build runs no scripts of packages', async (t) => {
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

t.test('the build of the image gets every file that it copies', async (t) => {
  const included = readFileSync('.dockerignore', 'utf8').split('\n').slice(1);
  const copies = readFileSync('Dockerfile', 'utf8').matchAll(/^COPY (?!--from)(.+) \S+$/gm);
  const copied = [...copies].flatMap(([, sources = '']) => sources.split(' '));
  t.ok(copied.includes('src'));
  t.same(
    copied.filter((source) => !included.includes(`!${source}`)),
    [],
  );
});

t.test('npm compares the hash of every package that it installs, on every platform', async (t) => {
  const { packages } = readLock();
  const unknown = Object.entries(packages).filter(
    ([path, { integrity = '' }]) => path !== '' && !/^sha512-[\w+/]{86}==$/.test(integrity),
  );
  t.same(unknown, []);
});

t.test('an installed package has the dependencies that were tested, and none of development', async (t) => {
  const folder = t.testdir();
  run('tar', ['-xzf', pack('.', folder), '-C', folder], '.');
  const packed: PackageLock = JSON.parse(
    readFileSync(join(folder, 'package', 'npm-shrinkwrap.json'), 'utf8'),
  );
  const { '': root, ...dependencies } = packed.packages;
  const tested = readLock().packages;
  t.notOk(root?.devDependencies);
  for (const [path, dependency] of Object.entries(dependencies)) {
    t.same(dependency, tested[path], path);
    t.notOk(dependency.dev, path);
  }
  for (const name of Object.keys(manifest.dependencies)) t.ok(dependencies[`node_modules/${name}`], name);
  t.notOk(existsSync('npm-shrinkwrap.json'), 'a checkout keeps package-lock.json alone');
});

t.test('the package is the same byte for byte, wherever it is packed and whatever the umask', async (t) => {
  const elsewhere = t.testdir({ clone: {}, one: {}, other: {} });
  const clone = join(elsewhere, 'clone');
  // The committed files, and changes that are not committed yet.
  const files = run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], '.');
  writeFileSync(join(elsewhere, 'files'), files);
  run('sh', ['-c', `umask 077 && tar -cf - -T ${elsewhere}/files | tar -xf - -C ${clone}`], '.');
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  t.equal(digest(pack(clone, join(elsewhere, 'one'))), digest(pack('.', join(elsewhere, 'other'))));
});

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string };
    readonly expression?: string;
  }[];
}

/** Licences that require no more than their text and the copyright notices. */
const PERMISSIVE = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-3-Clause', 'BlueOak-1.0.0', '0BSD']);
/** Binaries of a package for each platform: only the one for this platform has a licence in the lock file. */
const BINARIES = /^@node-rs\/bcrypt-/;

t.test(
  'the bill of materials lists every production package with a hash and a permissive licence',
  async (t) => {
    run('npm', ['run', '-s', 'sbom'], '.');
    const { components }: { components: readonly Component[] } = JSON.parse(
      readFileSync('dist/sbom.cdx.json', 'utf8'),
    );
    const nameOf = ({ group, name }: Component) => (group === undefined ? name : `${group}/${name}`);
    const licencesOf = ({ licenses = [] }: Component) =>
      licenses.flatMap(
        ({ license, expression = '' }) => license?.id ?? expression.replace(/[()]/g, '').split(' AND '),
      );
    const names = new Set(components.map(nameOf));
    t.same(
      Object.keys(manifest.dependencies).filter((name) => !names.has(name)),
      [],
    );
    const refused = components.filter((component) => {
      const licences = licencesOf(component);
      if (licences.length === 0) return !BINARIES.test(nameOf(component));
      return !licences.every((licence) => PERMISSIVE.has(licence));
    });
    t.same(refused, []);
    const unhashed = components.filter(
      ({ hashes: [hash] = [] }) => hash?.alg !== 'SHA-512' || !/^[0-9a-f]{128}$/.test(hash.content),
    );
    t.same(unhashed, []);
  },
);

t.test('the Node binary for development has the published checksum', async (t) => {
  const known: Readonly<Record<string, string>> = JSON.parse(
    readFileSync('test/repository/node-binaries.json', 'utf8'),
  );
  const { version }: { version: string } = JSON.parse(readFileSync('node_modules/node/package.json', 'utf8'));
  const platform = `node-${process.platform}-${process.arch}@${version}`;
  const hash = createHash('sha512').update(readFileSync('node_modules/node/bin/node')).digest('base64');
  t.equal(
    `sha512-${hash}`,
    known[platform],
    `${platform} is listed in node-binaries.json with the hash of its package`,
  );
});
