/**
 * Compares the documents and the generated files with the code: everything that exists is documented, and
 * everything documented exists.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { API_DOCUMENT, withAPITables } from '../../scripts/api-reference.ts';
import {
  DOCUMENT,
  fieldPaths,
  jsonSchema,
  SCHEMA,
  withFieldTable,
} from '../../scripts/configuration-reference.ts';
import { parseStonegate } from '../../src/app/configuration.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { CODES } from '../../src/errors/codes.ts';

const read = (file: string) => readFileSync(file, 'utf8');

/** A configuration but for its section `authentication`. */
const AROUND_USERS = `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: c, keyFile: k } }
upstream: { server: "https://u", credential: { tokenFile: t } }
tenancy: { mode: shared }
`;

t.test('the JSON Schema is up to date (npm run schema)', async (t) => {
  t.ok(read(SCHEMA) === jsonSchema());
});

t.test(
  'docs/reference/configuration.md has an up-to-date table of every field (npm run schema)',
  async (t) => {
    const document = read(DOCUMENT);
    t.ok(document === withFieldTable(document));
    t.same(
      fieldPaths().filter((path) => !document.includes(`\`${path}\``)),
      [],
    );
  },
);

t.test('docs/reference/api.md has up-to-date tables (npm run schema)', async (t) => {
  const document = read(API_DOCUMENT);
  t.ok(document === withAPITables(document));
});

t.test('the table of fields has the default of every field that has one', async (t) => {
  const { configuration } = parseStonegate(
    `apiVersion: stonegate.dev/v1alpha1
kind: StonegateConfiguration
server: { tls: { certFile: c, keyFile: k } }
upstream: { server: "https://u", credential: { tokenFile: t } }
tenancy: { mode: arktos }
authentication: { keystone: { url: "https://keystone/v3" } }
webhook: { tls: { certFile: c, keyFile: k } }`,
    '/',
  );
  const withDefault = new Set(
    [...read(DOCUMENT).matchAll(/^\| `([^`]+)` \| [^|]+ \| [^|\s][^|]* \|/gm)].map(([, path = '']) => path),
  );
  const missing = leaves(configuration).filter(
    (path) => fieldPaths().includes(path) && !withDefault.has(path),
  );
  t.same(missing, []);
});

/** The paths of all scalar values. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  if (Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => leaves(each, path === '' ? key : `${path}.${key}`));
}

t.test('every sample configuration is valid, except for the files that it names', async (t) => {
  const samples = globSync('config/samples/*.yaml');
  t.ok(samples.length > 0);
  for (const sample of samples) {
    const { problems } = parseStonegate(read(sample), dirname(sample));
    t.same(problems.map(formatProblem), [], sample);
  }
});

t.test('samples that mention another tenancy mode are also valid in that mode', async (t) => {
  const samples = globSync('config/samples/*.yaml').flatMap((sample) => {
    const other = read(sample).replace(/^( {2}mode: )shared # .*: (?=arktos$)/m, '$1');
    return other === read(sample) ? [] : [[sample, other] as const];
  });
  t.equal(samples.length, 8);
  for (const [sample, other] of samples)
    t.same(parseStonegate(other, dirname(sample)).problems.map(formatProblem), [], sample);
});

t.test('every complete configuration in the documents is valid', async (t) => {
  for (const document of ['README.md', ...globSync('docs/**/*.md')]) {
    for (const [, yaml = ''] of read(document).matchAll(/```yaml\n(.*?)```/gs)) {
      if (!yaml.includes('kind: StonegateConfiguration')) continue;
      const { problems } = parseStonegate(yaml, '/');
      t.same(problems.map(formatProblem), [], document);
    }
  }
});

t.test(
  'every part of a configuration on the pages of providers is valid, and each page has one',
  async (t) => {
    for (const document of globSync('docs/providers/*.md')) {
      const parts = [...read(document).matchAll(/```yaml\n(authentication:.*?)```/gs)];
      t.equal(parts.length, document.endsWith('generic.md') ? 0 : 1, document);
      for (const [, part = ''] of parts)
        t.same(parseStonegate(`${AROUND_USERS}${part}`, '/').problems.map(formatProblem), [], document);
    }
  },
);

t.test(
  'the AuthenticationConfiguration in the documents is valid together with the tenants beside it',
  async (t) => {
    const fences = [...read('docs/authentication.md').matchAll(/```yaml\n(.*?)```/gs)].map(
      ([, yaml = '']) => yaml,
    );
    const file = fences.find((yaml) => yaml.includes('kind: AuthenticationConfiguration')) ?? '';
    const own = fences.find((yaml) => yaml.includes('configurationFile:')) ?? '';
    const { configuration, problems } = parseStonegate(`${AROUND_USERS}${own}`, '/', () => Buffer.from(file));
    t.same(problems.map(formatProblem), []);
    t.equal(configuration?.authentication.jwt.length, 1);
  },
);

t.test('docs/reference/errors.md has exactly the error codes and their HTTP statuses', async (t) => {
  const documented = [...read('docs/reference/errors.md').matchAll(/^\| `(\w+)` \| (\d{3}) /gm)].map(
    ([, code, http]) => `${code} ${http}`,
  );
  t.same(
    documented.sort(),
    Object.entries(CODES)
      .map(([code, { http }]) => `${code} ${http}`)
      .sort(),
  );
});

t.test('links between the documents have an existing target', async (t) => {
  const broken = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md')].flatMap(
    (document) =>
      [...read(document).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(dirname(document), target)))
        .map((target) => `${document}: ${target}`),
  );
  t.same(broken, []);
});

t.test('every threat in SECURITY.md names existing tests', async (t) => {
  const tests = [...read('SECURITY.md').matchAll(/`(test\/[^`]+\.test\.ts)`/g)].map(([, file = '']) => file);
  t.ok(tests.length > 0);
  t.same(
    tests.filter((file) => !existsSync(file)),
    [],
  );
});

t.test('no file mentions a place outside the repository', async (t) => {
  const files = globSync(['*', '.ci/*', '{src,test,docs,config,scripts,demo}/**'], {
    exclude: ['node_modules', 'dist', 'coverage'],
    withFileTypes: true,
  }).filter((entry) => entry.isFile());
  // In pieces, so that this file does not find itself.
  const words = new RegExp(
    [
      ['\\.\\.', 'shared'],
      ['', 'work', 'main'],
      ['', 'tmp', 'brief'],
    ]
      .map((parts) => parts.join('/'))
      .join('|'),
  );
  t.same(
    files.map((entry) => join(entry.parentPath, entry.name)).filter((file) => words.test(read(file))),
    [],
  );
});

t.test('TLS verification is never turned off', async (t) => {
  const offences = globSync('src/**/*.ts').filter((file) => /rejectUnauthorized:\s*false/.test(read(file)));
  t.same(offences, []);
});

t.test('the lock file contains no registry URL', async (t) => {
  t.notMatch(read('package-lock.json'), /"resolved": "http/);
});

t.test(
  'the lock file has the packages of every platform: without one of them npm ci refuses to install',
  async (t) => {
    const lock: { packages: Record<string, { optionalDependencies?: Record<string, string> }> } = JSON.parse(
      read('package-lock.json'),
    );
    const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
      ),
    );
    t.same(missing, []);
  },
);
