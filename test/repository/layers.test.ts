/**
 * Checks the architecture: which layers may import each other, where each package may be imported, and the
 * size and names of files.
 */
import { globSync, readFileSync } from 'node:fs';
import t from 'tap';
import { findCycle, layerOf, packageOf, readSources } from './source.ts';

const files = readSources();

/** Layer → the other layers that it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  cel: ['lib'],
  errors: ['lib'],
  limits: ['lib', 'errors'],
  kubernetes: ['lib', 'errors', 'limits'],
  cache: ['lib', 'errors', 'limits', 'kubernetes'],
  // Observers see the user and the tenant of a request.
  observability: ['lib', 'errors', 'limits', 'kubernetes', 'tenancy'],
  upstream: ['lib', 'errors', 'limits', 'kubernetes', 'upstream/http1'],
  'upstream/http1': ['lib'],
  tenancy: ['lib', 'errors', 'kubernetes'],
  rbac: ['lib', 'errors', 'kubernetes'],
  // The rules that span sections use the names that tenancy reserves.
  config: ['lib', 'errors', 'limits', 'kubernetes', 'tenancy'],
  identity: ['lib', 'cel', 'errors', 'limits', 'kubernetes', 'cache', 'tenancy'],
  proxy: [
    ...['lib', 'errors', 'limits', 'kubernetes', 'cache', 'observability', 'upstream'],
    ...['tenancy', 'rbac', 'identity'],
  ],
  server: ['lib', 'errors', 'limits', 'proxy'],
  // `stonegate login` and `stonegate kubeconfig` are clients of Keystone and OIDC providers; manifests print
  // roles and names.
  cli: ['lib', 'errors', 'kubernetes', 'config', 'identity', 'rbac', 'tenancy'],
};

/** The layers that features may import besides other features. */
const BELOW_FEATURES = [
  ...['lib', 'cel', 'errors', 'limits', 'kubernetes', 'cache', 'observability', 'upstream'],
  ...['config', 'tenancy', 'rbac', 'identity', 'proxy'],
];

/** What a feature shows to other features: its value, or the types of an object that clients see too. */
const SHOWN = /^features\/[a-z-]+\/(feature|[a-z0-9-]+-v1(alpha|beta)1)\.ts$/;
/** What all features share. */
const SHARED = /^features\/[a-z-]+\.ts$/;
/** What commands of users print from. */
const OF_COMMANDS = /(-v1(alpha|beta)1|\/access-matrix)\.ts$/;

function mayImport(path: string, target: string, typeOnly: boolean): boolean {
  const [layer, other] = [layerOf(path), layerOf(target)];
  if (other === layer) return true;
  // What features share knows none of them: it would hide that two features know each other.
  if (layer === 'features') return BELOW_FEATURES.includes(other);
  if (layer.startsWith('features'))
    return BELOW_FEATURES.includes(other) || SHARED.test(target) || SHOWN.test(target);
  if (MAY_IMPORT[layer]?.includes(other)) return true;
  // The section `authentication` has the settings of each authenticator.
  if (layer === 'config') return other === 'identity' && (typeOnly || /-configuration\.ts$/.test(target));
  return layer === 'cli' && other.startsWith('features/') && OF_COMMANDS.test(target);
}

/** The composition root and the file that starts it may import every layer. No layer may import them. */
const FREE = ['app', ''];

/** Package → the only folders or files that may import it. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['cache/redis.ts'],
  'lru-cache': ['cache/', 'features/', 'identity/', 'kubernetes/', 'lib/', 'limits/', 'proxy/'],
  jose: ['identity/'],
  leven: ['lib/did-you-mean.ts'],
  '@node-rs/bcrypt': ['identity/static-files.ts'],
  'csv-parse': ['config/static-users.ts'],
  'openid-client': ['identity/oidc/', 'features/portal/oidc-portal.ts'],
  undici: ['identity/', 'cli/stonegate-api.ts', 'features/traces/span-exporter.ts'],
  pino: ['observability/'],
  'prom-client': ['observability/'],
  'sonic-boom': ['observability/'],
  // A clouds.yaml is not part of Stonegate's configuration.
  yaml: [
    ...['config/', 'cli/', 'features/admission/manifests/', 'features/portal/kubeconfig.ts'],
    'proxy/request/body-yaml.ts',
  ],
  re2js: ['cel/functions-patterns.ts'],
  '@bufbuild/protobuf': ['kubernetes/kubernetes-protobuf.ts'],
  // Each layer has the schemas of the data that it parses.
  zod: [''],
  'ipaddr.js': ['proxy/request/client-address.ts', 'lib/schema-fields.ts', 'lib/source-key.ts'],
};

t.test('every layer imports only the layers that it may import', async (t) => {
  const offences = files.flatMap(({ path, imports }) =>
    FREE.includes(layerOf(path))
      ? []
      : imports
          .filter(
            ({ own, target, typeOnly }) =>
              own && target.endsWith('.ts') && !mayImport(path, target, typeOnly),
          )
          .map(({ target }) => `${path} imports ${target}`),
  );
  t.same(offences, []);
});

/** Comparisons with the name of a tenancy mode, and types that list the names. */
const OF_MODE =
  /(?:[=!]==|\bcase) '(?:arktos|shared)'|'(?:arktos|shared)' (?:[=!]==|\|)|\.includes\('(?:arktos|shared)'\)/;

t.test('the name of a tenancy mode is compared only in tenancy/: all others ask for a fact', async (t) => {
  const paths = globSync(['src/**/*.ts', 'scripts/**/*.ts']).filter(
    (path) => !path.startsWith('src/tenancy/'),
  );
  t.same(
    paths.filter((path) => OF_MODE.test(readFileSync(path, 'utf8'))),
    [],
  );
});

/** A reader of one feature of a pair has to read the other one too. */
const MOST_PAIRS = 13;

t.test(`at most ${MOST_PAIRS} pairs of features know each other, without a circle`, async (t) => {
  const known = new Map<string, Set<string>>();
  for (const { path, imports } of files)
    for (const { own, target } of imports) {
      const [user, used] = [layerOf(path), layerOf(target)];
      if (!own || user === used || ![user, used].every((layer) => layer.startsWith('features/'))) continue;
      known.set(user, (known.get(user) ?? new Set()).add(used));
    }
  const pairs = [...known].flatMap(([user, used]) => [...used].map((one) => `${user} → ${one}`)).sort();
  t.ok(pairs.length <= MOST_PAIRS, `${pairs.length}: ${pairs.join(', ')}`);
  const reaches = (from: string, to: string): boolean =>
    [...(known.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  t.same(
    [...known.keys()].filter((feature) => reaches(feature, feature)),
    [],
  );
});

/** Where features meet: as data, and as what is built of them. */
const MEETING = ['app/features.ts', 'app/build-features.ts', 'app/build-listeners.ts'];

t.test('features are imported in one place as data, in one as what they do, and by commands', async (t) => {
  const offences = files.flatMap(({ path, imports }) =>
    MEETING.includes(path) || /^(features|cli|app\/commands)\//.test(path)
      ? []
      : imports
          .filter(({ own, target, typeOnly }) => own && layerOf(target).startsWith('features/') && !typeOnly)
          .map(({ target }) => `${path} imports ${target}`),
  );
  t.same(offences, []);
});

t.test('src/ contains only main.ts and folders', async (t) => {
  t.same(
    files.map(({ path }) => path).filter((path) => !path.includes('/')),
    ['main.ts'],
  );
});

t.test('every layer is in the table', async (t) => {
  const layers = new Set(files.map(({ path }) => layerOf(path)));
  t.same(
    [...layers].filter(
      (layer) => !(layer in MAY_IMPORT) && !FREE.includes(layer) && !layer.startsWith('features'),
    ),
    [],
  );
});

t.test('no imports form a cycle, not even imports of types', async (t) => {
  t.equal(findCycle(files)?.join(' → '), undefined);
});

t.test('each package is imported only where it may be', async (t) => {
  const offences = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ own, target }) => !own && !target.startsWith('node:'))
      .filter(({ target, typeOnly }) => {
        const name = packageOf(target);
        const homes = HOMES[name] ?? [];
        return !homes.some((home) => path.startsWith(home)) && !(typeOnly && homes.length > 0);
      })
      .map(({ target }) => `${path} imports ${target}`),
  );
  t.same(offences, []);
});

t.test('imports name a file with its extension', async (t) => {
  const offences = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ own, target, typeOnly }) => own && !typeOnly && !/\.(ts|json)$/.test(target))
      .map(({ target }) => `${path} imports ${target} without its ending`),
  );
  t.same(offences, []);
});

t.test('each file begins with a comment about its purpose', async (t) => {
  const silent = files.filter(({ text }) => !/^(#!.*\n)?\/\*\*\n \* \S/.test(text));
  t.same(
    silent.map(({ path }) => path),
    [],
  );
});

t.test('no file is longer than 300 lines', async (t) => {
  const long = files.filter(({ lines }) => lines > 300);
  t.same(
    long.map(({ path, lines }) => `${path}: ${lines}`),
    [],
  );
});

t.test('file names are in kebab case and not vague', async (t) => {
  const vague = /(^|[/-])(utils?|manager|helpers?|common|misc)([-./]|$)/;
  const odd = files.filter(({ path }) => vague.test(path) || !/^[a-z0-9/.-]+\.ts$/.test(path));
  t.same(
    odd.map(({ path }) => path),
    [],
  );
});
