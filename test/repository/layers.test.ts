/**
 * Holds the architecture: who may import whom, where each package lives, and that no file outgrows its idea.
 */
import t from 'tap';
import { findCycle, layerOf, packageOf, readSources } from './source.ts';

const files = readSources();

/** Layer → what it may import beside itself. */
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
  // The rules between sections know the names that tenancy reserves.
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

/** What features may import beside other features. */
const BELOW_FEATURES = [
  ...['lib', 'cel', 'errors', 'limits', 'kubernetes', 'cache', 'observability', 'upstream'],
  ...['config', 'tenancy', 'rbac', 'identity', 'proxy'],
];

/** What a feature shows to other features, and what all of them share. */
const SHOWN =
  /^features\/([a-z-]+\.ts|[a-z-]+\/(feature|access-matrix|[a-z0-9-]+-v1(alpha|beta)1|[a-z-]+-configuration)\.ts)$/;
/** The schemas and the formats of files from which the configuration is composed. */
const OF_CONFIGURATION = /-(configuration|file)\.ts$/;
/** What commands print: API types, manifests, rights and how access rules are shown. */
const OF_COMMANDS =
  /(-v1(alpha|beta)1|-configuration|-manifests|\/rights|\/access-matrix|\/enabled-policies|\/reviewed-writes|\/manifests\/[a-z-]+)\.ts$/;

function mayImport(path: string, target: string, typeOnly: boolean): boolean {
  const [layer, other] = [layerOf(path), layerOf(target)];
  if (other === layer) return true;
  if (layer === 'features' && other.startsWith('features/')) return true;
  if (layer.startsWith('features')) return BELOW_FEATURES.includes(other) || SHOWN.test(target);
  if (MAY_IMPORT[layer]?.includes(other)) return true;
  const isFeature = other.startsWith('features/') || other === 'identity';
  if (layer === 'config') return isFeature && (typeOnly || OF_CONFIGURATION.test(target));
  return layer === 'cli' && isFeature && OF_COMMANDS.test(target);
}

/** The composition root and the file that starts it may import every layer. No layer may import them. */
const FREE = ['app', ''];

/** Package → where alone it is imported, as a folder or a file. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['cache/redis.ts'],
  'lru-cache': ['cache/', 'features/', 'identity/', 'kubernetes/', 'lib/', 'limits/', 'proxy/'],
  jose: ['identity/'],
  leven: ['lib/did-you-mean.ts'],
  '@node-rs/bcrypt': ['identity/static-files.ts'],
  'csv-parse': ['config/static-users.ts'],
  'openid-client': ['identity/oidc/', 'features/portal/oidc-portal.ts'],
  undici: ['identity/', 'cli/stonegate-api.ts'],
  pino: ['observability/'],
  'prom-client': ['observability/'],
  'sonic-boom': ['observability/'],
  // A cloud's file is no configuration of Stonegate's.
  yaml: ['config/', 'cli/', 'features/portal/kubeconfig.ts', 'proxy/request/body-yaml.ts'],
  re2js: ['cel/functions-patterns.ts'],
  '@bufbuild/protobuf': ['kubernetes/kubernetes-protobuf.ts'],
  // Each layer has the schemas of what it reads.
  zod: [''],
  'ipaddr.js': ['proxy/request/client-address.ts', 'lib/schema-fields.ts', 'lib/source-key.ts'],
};

t.test('every layer imports only what it may', async (t) => {
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

t.test('src/ holds main.ts and folders', async (t) => {
  t.same(
    files.map(({ path }) => path).filter((path) => !path.includes('/')),
    ['main.ts'],
  );
});

t.test('every layer stands in the table', async (t) => {
  const layers = new Set(files.map(({ path }) => layerOf(path)));
  t.same(
    [...layers].filter(
      (layer) => !(layer in MAY_IMPORT) && !FREE.includes(layer) && !layer.startsWith('features'),
    ),
    [],
  );
});

t.test('there is no cycle, not of types either', async (t) => {
  t.equal(findCycle(files)?.join(' → '), undefined);
});

t.test('each package is imported in its home alone', async (t) => {
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

t.test('imports name the file, with its ending', async (t) => {
  const offences = files.flatMap(({ path, imports }) =>
    imports
      .filter(({ own, target, typeOnly }) => own && !typeOnly && !/\.(ts|json)$/.test(target))
      .map(({ target }) => `${path} imports ${target} without its ending`),
  );
  t.same(offences, []);
});

t.test('each file opens with a comment on what and why', async (t) => {
  const silent = files.filter(({ text }) => !/^(#!.*\n)?\/\*\*\n \* \S/.test(text));
  t.same(
    silent.map(({ path }) => path),
    [],
  );
});

t.test('no file is over 300 lines', async (t) => {
  const long = files.filter(({ lines }) => lines > 300);
  t.same(
    long.map(({ path, lines }) => `${path}: ${lines}`),
    [],
  );
});

t.test('names are the words of the field, in kebab case', async (t) => {
  const vague = /(^|[/-])(utils?|manager|helpers?|common|misc)([-./]|$)/;
  const odd = files.filter(({ path }) => vague.test(path) || !/^[a-z0-9/.-]+\.ts$/.test(path));
  t.same(
    odd.map(({ path }) => path),
    [],
  );
});
