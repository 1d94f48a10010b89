/**
 * The metrics file for CloudKitty fits CloudKitty's schema, and its queries, built as CloudKitty builds them,
 * are right in Prometheus' own engine, even for counters that restart.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { z } from 'zod';
import { everyUsageMetric } from '../support/every-usage-metric.ts';
import { prometheusMissing } from '../support/prometheus/prometheus.ts';

const skip = prometheusMissing() ?? false;

const FILE = 'config/cloudkitty/metrics.yml';
const PERIOD = 3_600;

const text = z.string().min(1);
const fraction = z.union([z.number(), z.string().regex(/^\d+\/\d+$/)]);

/**
 * METRIC_BASE_SCHEMA and PROMETHEUS_EXTRA_SCHEMA of CloudKitty's collector, version 25.0.0. Some fields that
 * have a default in CloudKitty are required here.
 */
const metricsFile = z.strictObject({
  metrics: z.record(
    z.string(),
    z.strictObject({
      description: text.optional(),
      unit: text,
      factor: fraction.default(1),
      offset: fraction.default(0),
      alt_name: text,
      groupby: z.array(text),
      metadata: z.array(text),
      mutate: z.enum(['NONE', 'NUMBOOL', 'NOTNUMBOOL', 'FLOOR', 'CEIL', 'MAP']).default('NONE'),
      extra_args: z.strictObject({
        aggregation_method: z.enum(['avg', 'count', 'max', 'min', 'stddev', 'stdvar', 'sum']),
        query_function: z
          .enum(['abs', 'ceil', 'exp', 'floor', 'ln', 'log2', 'log10', 'round', 'sqrt'])
          .optional(),
        range_function: z.enum(['changes', 'delta', 'deriv', 'idelta', 'irange', 'irate', 'rate']),
        query_prefix: z.string().optional(),
        query_suffix: z.string().optional(),
      }),
    }),
  ),
});

const { metrics } = metricsFile.parse(parse(readFileSync(FILE, 'utf8')));

/** `build_query` of CloudKitty's `prometheus_base.py`, times the factor. */
function quantity(name: string, project: string) {
  const { groupby, metadata, factor, extra_args: args } = metrics[name] ?? fail(name);
  const rate = `${args.range_function}(${name}{project="${project}"}[${PERIOD}s])`;
  return `${args.aggregation_method}(${rate}) by (${[...groupby, ...metadata].join(', ')}) * ${factor}`;
}

function fail(name: string): never {
  throw new Error(`${FILE} has no ${name}`);
}

/** Checks with promtool that the expression is within this share of the true value after an hour. */
function within(
  t: Test,
  series: Readonly<Record<string, string>>,
  expr: string,
  truth: number,
  share: number,
) {
  const file = join(t.testdir({}), 'test.yaml');
  const test = {
    interval: '30s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `abs((${expr}) / ${truth} - 1) < bool ${share}`,
        eval_time: '60m',
        exp_samples: [{ labels: '{tenant="acme"}', value: 1 }],
      },
    ],
  };
  writeFileSync(file, JSON.stringify({ rule_files: [], evaluation_interval: '30s', tests: [test] }));
  t.match(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' }), 'SUCCESS');
}

t.test('D532 D534 each metric exists, is rated as a counter, and is summed over replicas', async (t) => {
  const exposition = everyUsageMetric();
  t.ok(Object.keys(metrics).length > 5);
  for (const [name, { groupby, extra_args }] of Object.entries(metrics)) {
    t.match(exposition, `# TYPE ${name} counter`);
    const [, labels = ''] = new RegExp(`^${name}\\{(.*)\\}`, 'm').exec(exposition) ?? [];
    for (const label of groupby) t.match(labels, `${label}="`, name);
    t.same(extra_args, { aggregation_method: 'sum', range_function: 'rate' }, name);
  }
});

const CPU = 'stonegate_usage_requested_cpu_seconds_total';

t.test(
  'D531 if a replica restarts within the hour, the billed quantity is right within 1 %',
  { skip },
  async (t) => {
    // Two cores at one replica, whose process restarts at 0 after 20 minutes; one core at another.
    const labels = 'tenant="acme",project="web"';
    within(
      t,
      {
        [`${CPU}{${labels},instance="a"}`]: '1000+60x40 0+60x80',
        [`${CPU}{${labels},instance="b"}`]: '5000+30x120',
      },
      quantity(CPU, 'web'),
      3,
      0.01,
    );
  },
);

t.test('D535 12,345,678,901 bytes in an hour are 11.4978 GiB', { skip }, async (t) => {
  const name = 'stonegate_usage_sent_bytes_total';
  const step = 12_345_678_901 / 120;
  within(
    t,
    { [`${name}{tenant="acme",project="web"}`]: `0+${step}x120` },
    quantity(name, 'web'),
    11.4978,
    0.000_01,
  );
  t.equal(metrics[name]?.unit, 'GiB');
  t.equal(metrics.stonegate_usage_requests_total?.unit, 'thousand');
});
