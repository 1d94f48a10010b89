/**
 * Every query of the shipped dashboards and alerts finds series in a real Prometheus that scraped a real
 * Stonegate with failing backends.
 */
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { runWithFaults } from '../support/prometheus/faulty-run.ts';
import { type Prometheus, prometheusMissing } from '../support/prometheus/prometheus.ts';
import { alerts, dashboardQueries } from '../support/prometheus/rules.ts';
import { redisMissing } from '../support/redis/redis-server.ts';

const skip = prometheusMissing() ?? redisMissing() ?? false;

/** Correct queries that find nothing in the run, with the reason. */
const FINDS_NOTHING: Readonly<Record<string, string>> = {
  StonegateAbsent: 'absent() finds something only without a Stonegate; it fired before the start',
  StonegateTenantQuotaNearlyUsed: 'there are no quotas in the run',
  'stonegate-tenants: Quotas nearly used up A': 'there are no quotas in the run',
};

/** Scrapes after which a query must have found something: a busy machine misses some. */
const SCRAPES = 150;

t.test('dashboards and alerts', { skip }, async (t) => {
  const run = await runWithFaults(join(t.testdir({}), 'run'));
  t.teardown(() => run.close());

  await t.test('each fault makes the expression of its alert true', async (t) => {
    for (const alert of [
      'StonegateAbsent',
      'StonegateApiServerUnavailable',
      'StonegateAuditLogFailing',
      'StonegateCertificateExpires',
      'StonegateCertificateExpiresSoon',
      'StonegateCredentialRefused',
      'StonegateErrorBudgetBurns',
      'StonegateErrorBudgetBurnsFast',
      'StonegateIndexIncomplete',
      'StonegateInformerRefused',
      'StonegateIssuerUnavailable',
      'StonegateKeystoneUnavailable',
      'StonegateRedisUnavailable',
      'StonegateReloadFailed',
      'StonegateTenantLimited',
    ])
      t.ok(run.fired.has(alert), alert);
  });

  await t.test('each query of a dashboard finds series', async (t) => {
    const queries = dashboardQueries('5m').filter(({ name }) => FINDS_NOTHING[name] === undefined);
    t.ok(queries.length > 40);
    t.same(await withoutSeries(run.prometheus, queries), []);
  });

  await t.test('each alert finds the series that it compares', async (t) => {
    const queries = alerts()
      .filter(({ alert }) => FINDS_NOTHING[alert] === undefined)
      .map(({ alert, expr }) => ({ name: alert, expr: compared(expr) }));
    t.same(await withoutSeries(run.prometheus, queries), []);
  });
});

/** Makes the expression return 0 or 1 for every series, not only those for which the comparison is true. */
function compared(expr: string) {
  return expr.replace(/ (==|!=|>=|<=|>|<) /g, ' $1 bool ');
}

/** The names of the queries that find nothing, after many scrapes. */
async function withoutSeries(
  prometheus: Prometheus,
  queries: readonly { readonly name: string; readonly expr: string }[],
) {
  let left = queries;
  for (let scrapes = 0; left.length > 0 && scrapes < SCRAPES; scrapes += 1) {
    const found = await Promise.all(left.map(({ expr }) => prometheus.query(expr)));
    left = left.filter((_query, at) => found[at]?.length === 0);
    await nextScrape(prometheus);
  }
  return left.map(({ name, expr }) => `${name}: ${expr}`);
}

async function nextScrape(prometheus: Prometheus) {
  const last = await scrapedAt(prometheus);
  await eventually(async () => (await scrapedAt(prometheus)) > last);
}

async function scrapedAt(prometheus: Prometheus) {
  const [sample] = await prometheus.query('timestamp(up)');
  return Number(sample?.values[0]?.[1] ?? 0);
}
