/** The metrics that dashboards and alerts use: each name with its type and its labels. */
import t from 'tap';
import { createMetrics } from '../../src/observability/metrics.ts';
import { startStonegate } from '../support/stonegate.ts';
import { sameAsRecorded } from './recorded.ts';

t.test('names, types and labels', async (t) => {
  const metrics = createMetrics(() => 0);
  metrics.cacheLookup('memory', 'hit');
  metrics.backendCall('keystone', 'ok', 1);
  metrics.unknownCredentialLimited('source');
  metrics.webhookReview('TokenReview', 'allowed');
  metrics.admissionReview('allowed');
  metrics.reconciled('bindings', {
    result: 'ok',
    changes: { create: 1, update: 0, delete: 0 },
    refusals: 0,
    failures: 0,
    heldBack: 0,
  });
  metrics.streamEnded('watch', 'dropped');
  metrics.informersInForce('rbac-index', () => [{ resource: 'roles', ageSeconds: 1 }]);
  metrics.informerListed('rbac-index', 'roles', 'start');
  metrics.informerFailed('rbac-index', 'roles', 'silent');
  metrics.indexInForce(() => ({
    synced: true,
    bytes: 500,
    tenantsOff: 0,
    tooLarge: 0,
    revision: 1,
    resources: [{ resource: 'roles', objects: 1 }],
  }));
  metrics.listening('api', () => 1);
  metrics.certificatesInForce(new Map([['server.tls.certFile', 1_000]]));
  metrics.reload('ok');
  metrics.auditEventLost();
  const stonegate = await startStonegate(t);
  await stonegate.ask(stonegate.keystoneToken('alice'), '/api/v1/namespaces');
  await stonegate.ask(undefined, '/api/v1/namespaces');
  const texts = [await metrics.text(), await stonegate.app.metrics.text()];

  const types = new Map<string, string>();
  const labels = new Map<string, Set<string>>();
  for (const line of texts.join('\n').split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) types.set(name, type);
    // The labels of Node's own metrics are prom-client's, and some have no series yet.
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
