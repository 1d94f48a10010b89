/** The generated parts of the chart are up to date, and its versions are those of the package. */
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { RE2JS } from 're2js';
import t from 'tap';
import { parse } from 'yaml';
import { CHART_OBJECTS, chartObjects } from '../../scripts/chart-objects.ts';
import { CHART_RBAC, chartRBAC } from '../../scripts/chart-rbac.ts';
import {
  CHART_COPIES,
  CHART_DOCUMENT,
  CHART_SCHEMA,
  chartSchema,
  withValuesTable,
} from '../../scripts/chart-values.ts';
import { INDEX_COMPONENT, indexRBAC, OVERLAYS, overlayRBAC } from '../../scripts/overlay-rbac.ts';
import { ICON } from '../../src/features/portal/assets.ts';

const read = (file: string) => readFileSync(file, 'utf8');

t.test("the schema of the chart's values is up to date (npm run schema)", async (t) => {
  t.ok(read(CHART_SCHEMA) === chartSchema());
});

t.test(
  "Helm can compile every pattern of that schema: Go's regular expressions have no lookahead",
  async (t) => {
    const patterns = [...chartSchema().matchAll(/"pattern": ("(?:[^"\\\\]|\\\\.)*")/g)].map(
      ([, quoted = '']): string => JSON.parse(quoted),
    );
    t.ok(patterns.length > 5);
    for (const pattern of patterns) t.doesNotThrow(() => RE2JS.compile(pattern), pattern);
  },
);

t.test(
  "docs/reference/chart.md has an up-to-date table of the chart's values (npm run schema)",
  async (t) => {
    const document = read(CHART_DOCUMENT);
    t.ok(document === withValuesTable(document));
  },
);

t.test('the rules in the chart are those of stonegate manifests rbac (npm run schema)', async (t) => {
  t.ok(read(CHART_RBAC) === chartRBAC());
});

t.test(
  'the objects in the chart are those of stonegate manifests crds, roles and admission (npm run schema)',
  async (t) => {
    t.ok(read(CHART_OBJECTS) === (await chartObjects()));
  },
);

t.test('the rules in the overlays are those of stonegate manifests rbac (npm run schema)', async (t) => {
  for (const overlay of OVERLAYS) t.equal(read(`${overlay}/rbac.yaml`), await overlayRBAC(overlay), overlay);
  t.equal(read(`${INDEX_COMPONENT}/rbac.yaml`), indexRBAC());
});

t.test('in the overlays, probes and Prometheus can reach the admin listener', async (t) => {
  for (const overlay of globSync('config/kubernetes/overlays/*/stonegate.yaml'))
    t.match(parse(read(overlay)), { admin: { bind: '0.0.0.0:9090' } }, overlay);
});

t.test("the chart's version, its appVersion and the image's tag are the package's version", async (t) => {
  const { version }: { version: string } = JSON.parse(read('package.json'));
  t.match(parse(read('config/charts/stonegate/Chart.yaml')), { version, appVersion: version });
  t.match(read('config/kubernetes/base/deployment.yaml'), `image: stonegate:${version}\n`);
});

t.test('the icon of the chart is that of the portal', async (t) => {
  const { icon }: { icon: string } = parse(read('config/charts/stonegate/Chart.yaml'));
  t.equal(Buffer.from(icon.replace(/^data:image\/svg\+xml;base64,/, ''), 'base64').toString(), ICON);
});

t.test("the chart's copies of the alerts and the dashboards are up to date (npm run schema)", async (t) => {
  const filesIn = (path: string) =>
    statSync(path).isDirectory()
      ? readdirSync(path).map((file) => [file, read(join(path, file))])
      : read(path);
  for (const [source, copy] of CHART_COPIES) t.same(filesIn(copy), filesIn(source), copy);
});

t.test('dashboards and alerts use only metrics that docs/reference/metrics.md documents', async (t) => {
  const documented = read('docs/reference/metrics.md');
  for (const file of globSync(['config/dashboards/*.json', 'config/alerts/*.yaml']))
    for (const [used] of read(file).matchAll(/\bstonegate_[a-z_]+/g)) {
      const metric = used.replace(/_(?:bucket|sum|count)$/, '');
      t.ok(documented.includes(`| \`${metric}\` |`), `${file}: ${metric}`);
    }
});

t.test('the autoscaler uses a metric that Stonegate has', async (t) => {
  const { autoscaling } = parse(read('config/charts/stonegate/values.yaml'));
  t.match(read('docs/reference/metrics.md'), `| \`${autoscaling.openConnections.metric}\` | gauge |`);
});
