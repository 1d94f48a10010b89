/**
 * Holds the architecture: who may import whom, where each package lives, and that no file outgrows its idea.
 */
import t from 'tap';
import { findCycle, layerOf, packageOf, readSources } from './source.ts';

const files = readSources();

const BASE = ['api', 'lib', 'errors'];
const DOMAIN = [
  'authentication',
  'tenancy',
  'authorization',
  'bindings',
  'admission',
  'flowcontrol',
  'audit',
  'rbac',
];
const ADAPTERS = ['cache', 'clients', 'upstream', 'observability'];

/** Layer → what it may import beside itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  api: ['lib', 'cel'],
  lib: [],
  cel: ['lib'],
  'upstream/http1': ['lib'],
  errors: ['api', 'lib'],
  config: BASE,
  ...Object.fromEntries(DOMAIN.map((layer) => [layer, BASE])),
  authentication: [...BASE, 'cel'],
  // One evaluation for the proxy and the webhook: what RBAC rules cover.
  admission: [...BASE, 'rbac'],
  access: [...BASE, 'rbac'],
  // What the three controllers share.
  reconcile: BASE,
  bindings: [...BASE, 'reconcile'],
  ...Object.fromEntries(['policy', 'publishing'].map((layer) => [layer, [...BASE, 'rbac', 'reconcile']])),
  ...Object.fromEntries(ADAPTERS.map((layer) => [layer, BASE])),
  upstream: [...BASE, 'upstream/http1'],
  pipeline: [...BASE, ...DOMAIN, 'access', 'policy'],
  server: [...BASE, 'pipeline'],
  portal: [...BASE, 'pipeline'],
  webhook: [...BASE, 'pipeline'],
  cli: [...BASE, 'config', 'clients', 'reconcile'],
};

/** Layer → what it may know as types alone: the ports it implements. */
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ADAPTERS.map((layer) => [
      layer,
      [...DOMAIN, 'access', 'policy', 'publishing', 'reconcile', 'pipeline', 'portal'],
    ]),
  ),
  // The gate before unknown credentials is authentication's port.
  flowcontrol: ['authentication'],
};

/** The composition root and the file that starts it may import every layer. No layer may import them. */
const FREE = ['app', ''];

/** Package → where alone it is imported, as a folder or a file. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['cache/redis.ts'],
  'lru-cache': ['access/', 'bindings/', 'cache/', 'clients/', 'lib/', 'pipeline/'],
  jose: ['authentication/'],
  '@node-rs/bcrypt': ['authentication/password.ts'],
  'csv-parse': ['config/static-users.ts'],
  'openid-client': ['clients/oidc'],
  undici: ['clients/'],
  pino: ['observability/'],
  'prom-client': ['observability/'],
  'sonic-boom': ['observability/'],
  // A cloud's file is no configuration of Stonegate's.
  yaml: ['config/', 'cli/', 'portal/kubeconfig.ts', 'pipeline/request/body-yaml.ts'],
  re2js: ['cel/functions-patterns.ts'],
  '@bufbuild/protobuf': ['lib/kubernetes-protobuf.ts'],
  // Each layer has the schemas of what it reads.
  zod: [''],
  'ipaddr.js': ['pipeline/request/client-address.ts', 'api/config-fields.ts', 'lib/source-key.ts'],
};

t.test('every layer imports only what it may', async (t) => {
  const offences = files.flatMap(({ path, imports }) => {
    const layer = layerOf(path);
    if (FREE.includes(layer)) return [];
    const allowed = MAY_IMPORT[layer] ?? [];
    const known = MAY_KNOW[layer] ?? [];
    return imports
      .filter(({ own }) => own)
      .map(({ target, typeOnly }) => ({ target, typeOnly, other: layerOf(target) }))
      .filter(({ other, typeOnly }) => {
        return other !== layer && !allowed.includes(other) && !(typeOnly && known.includes(other));
      })
      .map(({ target }) => `${path} imports ${target}`);
  });
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
    [...layers].filter((layer) => !(layer in MAY_IMPORT) && !FREE.includes(layer)),
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
