/** The metrics that dashboards and alerts use: the name, type and labels of each. */
import t from 'tap';
import { everyMetric } from '../support/every-metric.ts';
import { everyUsageMetric } from '../support/every-usage-metric.ts';
import { startStonegate } from '../support/stonegate.ts';
import { sameAsRecorded } from './recorded.ts';

t.test('names, types and labels of the metrics are as recorded', async (t) => {
  const metrics = everyMetric(() => 0);
  const stonegate = await startStonegate(t);
  await stonegate.ask(stonegate.keystoneToken('alice'), '/api/v1/namespaces');
  await stonegate.ask(undefined, '/api/v1/namespaces');
  const texts = [await metrics.text(), await stonegate.app.metrics.text(), everyUsageMetric()];

  const types = new Map<string, string>();
  const labels = new Map<string, Set<string>>();
  for (const line of texts.join('\n').split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) types.set(name, type);
    // prom-client defines the labels of Node's own metrics, some of which have no series yet.
    if (!line.startsWith('stonegate_')) continue;
    const [, sample = '', listed = ''] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? [];
    const metric = types.has(sample) ? sample : sample.replace(/_(?:bucket|sum|count)$/, '');
    const names = labels.get(metric) ?? new Set();
    for (const [, label = ''] of listed.matchAll(/([a-z_]+)="/g)) names.add(label);
    labels.set(metric, names);
  }
  const lines = [...types].map(([name, type]) =>
    [name, type, ...[...(labels.get(name) ?? [])].sort()].join(' '),
  );
  sameAsRecorded(t, 'metrics.txt', `${lines.sort().join('\n')}\n`);
});
