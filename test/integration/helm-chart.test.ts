/**
 * The Helm chart, rendered by Helm without an API server: what it renders fits together, and wrong values are
 * refused by name. The kustomize overlays render the same.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

import { globSync, readFileSync, writeFileSync } from 'node:fs';

import { createServer } from 'node:http';
import { basename, join, relative, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { check } from '../../src/app/commands/check.ts';
import { findAllKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import {
  CHART,
  configurationOf,
  type ManifestObject,
  objectsOf,
  podTemplateOf,
  render,
  runHelm,
  SAMPLES,
  valuesOf,
} from '../support/chart.ts';
import { helm, missing } from '../support/kubernetes/programs.ts';
import { printedIO } from '../support/printed-io.ts';
import { RUNBOOK } from '../support/prometheus/rules.ts';
import { rows } from '../support/rows.ts';
import { createAuthority } from '../support/tls/authority.ts';

const skip = missing(helm());
const kubectl = findAllKubectls().at(-1);

t.test('every sample of values passes helm lint', { skip }, async (t) => {
  const values = [...SAMPLES.values()];
  t.ok(values.length >= 5);
  for (const file of values) {
    const { code, stdout } = runHelm(t.testdir(), ['lint', '--strict', CHART, '--values', file]);
    t.equal(code, 0, `${file}: ${stdout}`);
  }
});

t.test('without values the chart passes helm lint, but cannot be installed', { skip }, async (t) => {
  const { code, stdout } = runHelm(t.testdir(), ['lint', '--strict', CHART]);
  t.equal(code, 0, stdout);
  t.notMatch(stdout, 'icon');
  const { stderr } = runHelm(t.testdir(), ['template', 'stonegate', CHART]);
  t.match(stderr, 'configuration.tenancy.mode: is required: shared or arktos');
});

t.test('the rendered configuration is valid, and names only files that are mounted', { skip }, async (t) => {
  const authority = await createAuthority();
  const pair = await authority.server('stonegate');
  const content = (name: string) => {
    if (name === 'tls.crt') return pair.cert;
    if (name === 'tls.key') return pair.key;
    if (name === 'ca.crt') return authority.cert;
    if (name === 'url') return 'redis://127.0.0.1:6379';
    return name === 'token' ? 'token' : Buffer.alloc(32, name).toString('base64');
  };
  for (const [name, file] of SAMPLES) {
    const objects = render(t.testdir(), file);
    const [container] = podTemplateOf(objects).spec.containers;
    const folders = container?.volumeMounts.map(({ mountPath }) => mountPath) ?? [];
    const { io, printed } = printedIO();
    const code = await check(['--config', '/etc/stonegate/stonegate.yaml', '--offline'], io, {
      env: { KEYSTONE_SECRET: 'secret' },
      readFile: async (path) => {
        if (!folders.includes(path.slice(0, path.lastIndexOf('/'))))
          throw new Error(`${path} is not mounted`);
        const text =
          path === '/etc/stonegate/stonegate.yaml' ? configurationOf(objects) : content(basename(path));
        return Buffer.from(text);
      },
    });
    t.equal(code, 0, `${name}: ${printed.stderr}`);
  }
});

const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };

/** Strings that YAML 1.1, YAML 1.2 or a template could take for something else. */
const TRICKY = [
  ...[' ', '~', 'null', 'Null', 'true', 'y', 'N', 'on', 'off', 'yes', '=', '<<', '-', '- a', 'a: b'],
  ...['#x', 'x #y', '1', '017', '0o17', '0x1f', '0b11', '1_000', '1e3', '.5', '1.', '+1', '.inf'],
  ...['.NaN', '12:30:45', '2020-01-01', '!x', '&a', '*a', '%a', '@a', '`a', '"', "'", '\\', '{{ x }}'],
  ...['{a', '[a', '|', '>', '---', '...', '--- a', ' x', 'x ', '\t', 'a\nb', '\n', 'a\r\nb', '\u00a0'],
  ...['\ufeff', 'é', '😀', '<&>'],
];

t.test('the configuration is rendered exactly as given', { skip }, async (t) => {
  const map = Object.fromEntries(TRICKY.map((claim, at) => [claim, `tenant-${at}`]));
  const issuer = { url: 'https://login.example.com', audiences: TRICKY };
  const username = { claim: 'sub', prefix: 'oidc:' };
  const configuration = {
    server: { limits: { bodyBytes: 104_857_600 } },
    tenancy: { mode: 'shared' },
    authentication: { jwt: [{ issuer, claimMappings: { username }, tenant: { claim: 'hd', map } }] },
    cache: { maxEntries: 12_345_678 },
  };
  const given: unknown = parse(configurationOf(render(t.testdir(), { configuration })));
  t.match(given, configuration);
  t.match(given, { authentication: { jwt: [{ issuer: { audiences: TRICKY } }] } });
});

t.test('every sample configuration can be given to the chart', { skip }, async (t) => {
  for (const sample of globSync('config/samples/*.yaml')) {
    const configuration = valuesOf(sample);
    const given: unknown = parse(
      configurationOf(render(t.testdir(), { configuration, admission: { caBundle: 'PEM' } })),
    );
    // The admission webhook is a process of its own.
    const { admission: _, ...proxy } = configuration;
    t.same(given, { admin: { bind: '0.0.0.0:9090' }, ...proxy }, sample);
  }
});

/** The values to which others are added, these as YAML, and what the refusal names. */
const WRONG_VALUES = rows(`
good | replica: 3 | replica
good | replicas: two | replicas
good | image: { digest: latest } | image.digest
good | files: { one: { volume: x } } | files
shared | configuration: { tenancy: { mode: other } } | configuration.*tenancy.*mode
shared | configuration: { tenancy: { moed: shared } } | moed
shared | configuration: { server: { workers: -1 } } | configuration.*server.*workers
shared | configuration: { authentication: {} } | configuration.*authentication
none | configuration: { authentication: { keystone: { url: "https://keystone.example.com/v3" } } } | tenancy
shared | configuration: { admission: { tls: { certFile: tls.crt, keyFile: tls.key } } } | admission[.]caBundle
arktos | configuration: { admission: {} } | stonegate manifests admission
shared | { configuration: { admission: {} }, rbac: { create: false } } | stonegate manifests admission
arktos | upstream: {} | upstream[.]existingSecret
shared | { configuration: { publishing: { namespaces: [a] } }, rbac: { create: false } } | bindings[.]credential
shared | configuration: { authorization: { crossTenantPolicies: true } } | configuration[.]authorization
none | {} | configuration
good | { redis: { enabled: true }, sealingKeys: { existingSecret: x } } | redis[.]url
good | redis: { enabled: true, url: "redis://r" } | sealingKeys[.]existingSecret
arktos | rbac: { constrained: true } | rbac[.]constrained
good | ingress: { enabled: true } | ingress[.]host
good | ingress: { enabled: true, host: k8s.example.com } | ingress[.]annotations
good | tlsRoute: { enabled: true, host: k8s.example.com } | tlsRoute[.]parentRefs
good | tlsRoute: { enabled: true, host: k8s.example.com, parentRefs: [{ name: public }], portalHost: p.example.com } | configuration[.]portal
good | { tlsRoute: { enabled: true, host: k8s.example.com, parentRefs: [{ name: public }] }, service: { api: { enabled: false } } } | service[.]api[.]enabled`);

t.test('a wrong value is refused by its name', { skip }, async (t) => {
  const configuration = { tenancy: { mode: 'shared' }, authentication: KEYSTONE };
  const bases: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    none: {},
    good: valuesOf(SAMPLES.get('shared') ?? ''),
    shared: { configuration },
    arktos: {
      configuration: { ...configuration, tenancy: { mode: 'arktos' } },
      upstream: { existingSecret: 'stonegate-upstream' },
    },
  };
  for (const [base, text, name] of WRONG_VALUES) {
    const added: Record<string, object> = parse(text);
    const values = { ...bases[base], ...added };
    if (added.configuration !== undefined)
      values.configuration = { ...Object(bases[base]?.configuration), ...added.configuration };
    t.throws(() => render(t.testdir(), values), { message: new RegExp(name) }, `${base}: ${text}`);
  }
});

t.test('a pod gets as much time to end as the configuration gives to requests', { skip }, async (t) => {
  const seconds = (shutdownGrace: string) => {
    const configuration = {
      tenancy: { mode: 'shared' },
      authentication: KEYSTONE,
      server: { shutdownGrace },
    };
    return podTemplateOf(render(t.testdir(), { configuration })).spec.terminationGracePeriodSeconds;
  };
  const rest = 10 + 5;
  for (const [grace, whole] of [
    ['30s', 30],
    ['1m30s', 90],
    ['250ms', 1],
    ['1h', 3600],
  ] as const)
    t.equal(seconds(grace), whole + rest, grace);
});

const WIKI = 'https://wiki.example.com/stonegate';

t.test(
  'an Ingress and TLSRoutes lead to the Services of the API and of the portal, only if enabled',
  { skip },
  async (t) => {
    const routesOf = (sample: string) =>
      render(t.testdir(), SAMPLES.get(sample) ?? '').filter(({ kind }) =>
        /^(?:Ingress|TLSRoute)$/.test(kind),
      );
    t.same(routesOf('arktos'), []);
    const backend = (name: string) => ({ service: { name, port: { number: 443 } } });
    const rule = (name: string) => ({ rules: [{ backendRefs: [{ name, port: 443 }] }] });
    t.match(routesOf('everything'), [
      {
        kind: 'Ingress',
        spec: {
          rules: [
            { host: 'stonegate.example.com', http: { paths: [{ backend: backend('stonegate') }] } },
            { host: 'portal.example.com', http: { paths: [{ backend: backend('stonegate-portal') }] } },
          ],
        },
      },
      { kind: 'TLSRoute', spec: { hostnames: ['stonegate.example.com'], ...rule('stonegate') } },
      { kind: 'TLSRoute', spec: { hostnames: ['portal.example.com'], ...rule('stonegate-portal') } },
    ]);
  },
);

t.test(
  'the PrometheusRule has the rules of config/alerts, and the ConfigMap every dashboard',
  { skip },
  async (t) => {
    const objects = render(t.testdir(), SAMPLES.get('everything') ?? '');
    const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
    t.same(rule?.spec, parse(readFileSync('config/alerts/stonegate.yaml', 'utf8')));
    const elsewhere = render(
      t.testdir(),
      SAMPLES.get('everything') ?? '',
      '--set',
      `prometheusRule.runbookURL=${WIKI}`,
    );
    const moved = JSON.stringify(elsewhere.find(({ kind }) => kind === 'PrometheusRule')?.spec);
    t.match(moved, `"${WIKI}#stonegateabsent"`);
    t.notMatch(moved, RUNBOOK);
    const data = objects.find(({ metadata }) => metadata.name === 'stonegate-dashboards')?.data ?? {};
    const files = globSync('config/dashboards/*.json');
    t.equal(Object.keys(data).length, files.length);
    for (const file of files) t.equal(data[basename(file)]?.trim(), readFileSync(file, 'utf8').trim(), file);
  },
);

t.test('two releases share no object, and select only their own pods', { skip }, async (t) => {
  const release = (name: string) => {
    const words = ['template', name, CHART, '--values', SAMPLES.get('everything') ?? ''];
    return objectsOf(runHelm(t.testdir(), words).stdout);
  };
  const names = (objects: readonly ManifestObject[]) =>
    objects.map(({ kind, metadata: { name, namespace = '' } }) => `${kind} ${namespace} ${name}`);
  const one = names(release('one'));
  const other = new Set(names(release('other')));
  t.ok(one.length > 15);
  t.equal(new Set(one).size, one.length);
  t.same(
    one.filter((name) => other.has(name)),
    [],
  );
  const selector = { 'app.kubernetes.io/name': 'stonegate', 'app.kubernetes.io/instance': 'other' };
  for (const object of release('other'))
    if (object.kind === 'Service') t.match(object, { spec: { selector } });
});

t.test('helm test succeeds if /readyz does, and fails if it does not', { skip }, async (t) => {
  const test = render(t.testdir(), SAMPLES.get('shared') ?? '').find(({ kind }) => kind === 'Pod');
  const [, ...words] = test?.spec?.containers?.[0]?.command ?? [];
  t.equal(words.at(-1), 'http://stonegate-admin.stonegate.svc:9090/readyz');
  const results: (number | null)[] = [];
  for (const status of [200, 503]) {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/readyz' ? status : 404;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const child = spawn(process.execPath, [...words.slice(0, -1), `http://127.0.0.1:${port}/readyz`]);
    await once(child, 'exit');
    results.push(child.exitCode);
    server.close();
  }
  t.same(results, [0, 1]);
});

t.test(
  'the kustomize overlays render what the chart renders',
  { skip: skip || (kubectl === undefined && NO_KUBECTL) },
  async (t) => {
    for (const name of ['shared', 'arktos', 'webhook-only']) {
      const overlay = execFileSync(kubectl ?? '', ['kustomize', join('config/kubernetes/overlays', name)], {
        encoding: 'utf8',
      });
      t.same(
        comparable(objectsOf(nameInChart(overlay))),
        comparable(render(t.testdir(), SAMPLES.get(name) ?? '')),
        name,
      );
    }
  },
);

t.test(
  'with the component access-index an overlay has the rights of the index, bound to its service account',
  { skip: kubectl === undefined && NO_KUBECTL },
  async (t) => {
    const folder = t.testdir();
    const there = (name: string) => relative(folder, resolve('config/kubernetes', name));
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [there('overlays/shared')],
      components: [there('components/access-index')],
    };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = execFileSync(kubectl ?? '', ['kustomize', folder], { encoding: 'utf8' });
    const named = objectsOf(rendered).filter(({ metadata }) => metadata.name.startsWith('stonegate-index:'));
    t.match(
      named,
      parse(`
      - {kind: ClusterRole, rules: [{resources: [namespaces], verbs: [list, watch]}, {}]}
      - kind: ClusterRoleBinding
        subjects: [{kind: ServiceAccount, namespace: stonegate, name: stonegate}]`),
    );
  },
);

const HELM_LABELS = new Set(['helm.sh/chart', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/version']);

/** Renames the overlays' RBAC objects as the chart names them. */
function nameInChart(text: string) {
  return text.replaceAll(/stonegate-([a-z-]+):stonegate:stonegate/g, 'stonegate:stonegate-$1');
}

/** The objects by kind and name, without Helm's labels and the test that only Helm runs. */
function comparable(objects: readonly ManifestObject[]): unknown {
  const rendered = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
  return Object.fromEntries(
    rendered.map((object) => {
      const labels = Object.entries(object.metadata.labels ?? {}).filter(([name]) => !HELM_LABELS.has(name));
      const { data, ...rest } = object;
      const configuration: unknown = data && parse(data['stonegate.yaml'] ?? '');
      const metadata = { ...object.metadata, labels: Object.fromEntries(labels) };
      return [`${object.kind} ${object.metadata.name}`, sorted({ ...rest, metadata, configuration })];
    }),
  );
}

/** Sorts all lists by name, since their order has no meaning. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sorted(each)]));
}

function nameOf(value: unknown) {
  return typeof value === 'object' && value !== null && 'name' in value ? String(value.name) : '';
}

t.test(
  'Prometheus scrapes the usage of tenants if the configuration enables its metrics',
  { skip },
  async (t) => {
    const paths = (...words: readonly string[]) =>
      JSON.stringify(render(t.testdir(), SAMPLES.get('everything') ?? '', ...words)).match(
        /"\/metrics[^"]*"/g,
      );
    t.same(paths(), ['"/metrics"']);
    t.same(paths('--set', 'configuration.usage.metrics=true'), ['"/metrics"', '"/metrics/usage"']);
  },
);
