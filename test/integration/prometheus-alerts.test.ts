/** In Prometheus' own rule engine (promtool), each alert fires when it should, and only then. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { prometheusMissing } from '../support/prometheus/prometheus.ts';
import { alerts, RULES, RUNBOOK } from '../support/prometheus/rules.ts';

const skip = prometheusMissing() ?? false;

type Series = Readonly<Record<string, string>>;
interface AlertCase {
  /** In minutes. */
  readonly after: number;
  readonly fires: Series;
  readonly silent: Series;
}
const CASES: Readonly<Record<string, AlertCase>> = parse(
  readFileSync('test/support/prometheus/alert-cases.yaml', 'utf8'),
);

t.test('Prometheus accepts the rules', { skip }, async (t) => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' });
  t.equal(status, 0, `${stdout}${stderr}`);
});

t.test('there is a case for each alert, and no other', async (t) =>
  t.same(
    Object.keys(CASES),
    alerts().map(({ alert }) => alert),
  ),
);

t.test('each alert has a severity, a summary and a place in the runbook', async (t) => {
  for (const { alert, labels, annotations } of alerts()) {
    t.match(labels?.severity, /^(?:critical|warning)$/, alert);
    t.match(annotations?.summary, /\.$/, alert);
    t.equal(annotations?.runbook_url, `${RUNBOOK}#${alert.toLowerCase()}`);
  }
});

for (const [alert, alertCase] of Object.entries(CASES))
  t.test(`${alert} fires when it should, and only then`, { skip }, async (t) => {
    const file = join(t.testdir(), 'test.yaml');
    writeFileSync(file, JSON.stringify(promtoolFile(alert, alertCase)));
    t.match(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' }), 'SUCCESS');
  });

/** promtool reads YAML, of which JSON is a subset. */
function promtoolFile(alert: string, { after, fires, silent }: AlertCase) {
  const test = (name: string, series: Series, firing: number) => ({
    name,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: labelled(name), values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
        eval_time: `${after}m`,
        exp_samples: [{ labels: '{}', value: firing }],
      },
    ],
  });
  return {
    rule_files: [resolve(RULES)],
    evaluation_interval: '1m',
    tests: [test('fires', fires, 1), test('silent', silent, 0)],
  };
}

/** Adds the labels that Prometheus adds to a series. */
function labelled(series: string) {
  const [name, labels = ''] = series.replace('}', '').split('{');
  return `${name}{${[labels, 'job="stonegate",namespace="prod",instance="a:9090"'].filter(Boolean).join(',')}}`;
}
