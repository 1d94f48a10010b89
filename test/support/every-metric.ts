/** The metrics of a process in which every counted event has happened once. */
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts';

export function everyMetric(now: () => number): Metrics {
  const metrics = createMetrics(now, '1.2.3');
  metrics.cacheLookup('memory', 'hit');
  metrics.backendCall('keystone', 'ok', 0.02);
  metrics.unknownCredentialLimited('source');
  metrics.rateLimited('tenant', 'refused');
  metrics.rateSharesInForce(true);
  metrics.webhookReview('TokenReview', 'authenticated');
  metrics.admissionReview('denied');
  const changes = { create: 1, update: 0, delete: 0 };
  metrics.leads('bindings', true);
  metrics.reconciled('bindings', { result: 'ok', changes, refusals: 0, failures: 0, heldBack: 0 });
  metrics.streamEnded('watch', 'expired');
  metrics.accessVerified('agreed');
  metrics.informersInForce('rbac-index', () => [{ resource: 'roles', ageSeconds: 1.5 }]);
  metrics.informerListed('rbac-index', 'roles', 'start');
  metrics.informerFailed('rbac-index', 'roles', 'silent');
  const resources = [{ resource: 'roles', objects: 5 }];
  metrics.indexInForce(() => ({
    synced: true,
    bytes: 500,
    tenantsOff: 1,
    tooLarge: 2,
    revision: 7,
    resources,
  }));
  metrics.policiesInForce(() => ({ inForce: { abac: 1, tenant: 2, administration: 3 }, notReady: 4 }));
  metrics.keystoneLimitsInUse(() => 30);
  metrics.quotaReview('exceeded');
  metrics.quotaRepaired();
  metrics.quotasInForce(() => [{ tenant: 'acme', resource: 'pods', usedRatio: 0.9 }]);
  metrics.listening('api', () => 3);
  metrics.certificatesInForce(new Map([['server.tls.certFile', 1_000]]));
  metrics.reload('ok');
  metrics.auditEventLost();
  return metrics;
}
