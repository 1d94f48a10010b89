/**
 * The quota of each tenant: decided in the admission webhook, counted and written by a controller.
 */

import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import {
  createNamespaceQuotas,
  type NamespaceQuotas,
} from '../../kubernetes/resource-quota/namespace-quotas.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Readings } from '../../lib/metric.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import { everywhere } from '../../tenancy/places.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { FeatureBuild } from '../build.ts';
import { INFORMS } from '../component-with-informers.ts';
import type { KeystoneQuota } from '../keystone-limits/feature.ts';
import { createLeasedController } from '../leased-controller.ts';
import type { ReviewRule } from '../review-rule.ts';
import { isQuotaPath } from './counted-writes.ts';
import type { QuotaParts } from './feature.ts';
import { QUOTA_REPAIRS, QUOTA_USED } from './metrics.ts';
import { usedRatio } from './own-quota-v1alpha1.ts';
import { createQuotaReconciler, type QuotaReconciler } from './quota-reconciler.ts';
import { createQuotaReviewer } from './quota-reviewer.ts';
import { createQuotaTenants } from './quota-tenants.ts';
import { createReservations, type Reservations } from './reservations.ts';
import { StoredQuotas } from './stored-quotas.ts';
import type { TenantQuota } from './tenant-quota-v1alpha1.ts';
import { UsageCounter } from './usage-counter.ts';

/** Milliseconds between two runs without a change: reservations end with time. */
const INTERVAL = 2_000;
/** What tenants use is written at most twice a second, however long a run takes. */
const PACE = { debounce: 500, rest: 0 };

interface QuotaController {
  readonly reconciler: QuotaReconciler;
  start(): void;
  stop(): Promise<void>;
}

const QUOTA_CONTROLLER = new ComponentType<QuotaController>('quota controller', RUNS);

/** @returns undefined without the section `quota` */
export function createQuotaController(
  { parts, scope, runtime, provisioningUpstream }: FeatureBuild<QuotaParts>,
  keystoneQuota: Handle<KeystoneQuota> | undefined,
): QuotaReconciler | undefined {
  if (parts.controller === undefined || provisioningUpstream === undefined) return undefined;
  const uses = [provisioningUpstream, keystoneQuota] as const;
  return scope.component(QUOTA_CONTROLLER, parts.controller, uses, (part, [upstream, keystoneQuota]) =>
    createLeasedQuotaController(part, upstream, keystoneQuota, runtime),
  ).reconciler;
}

function createLeasedQuotaController(
  part: NonNullable<QuotaParts['controller']>,
  upstream: Upstream,
  keystoneQuota: KeystoneQuota | undefined,
  runtime: FeatureBuild<QuotaParts>['runtime'],
): QuotaController {
  const { place, leases, byDefault, count, tenancy } = part;
  const { telemetry } = runtime;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const changes = { wake: () => {} };
  const quotas = new StoredQuotas(runtime);
  const informers = new Informers({ ...runtime, upstream, name: 'tenant-quotas' });
  quotas.addTo(informers, place, () => changes.wake());
  const counted = { ...runtime, upstream, objects, quotas, place, byDefault, tenancy, count };
  const reconciler = createQuotaReconciler({
    objects,
    place,
    byDefault,
    ofTenants: keystoneQuota?.ofTenants,
    createCounter: () =>
      new UsageCounter({
        ...counted,
        onChange: () => changes.wake(),
        onRepair: (tenant) => {
          telemetry.count(QUOTA_REPAIRS, {});
          runtime.logger.warn({ tenant }, 'quota: the counted usage was changed by another client');
        },
      }),
  });
  const controller = createLeasedController(runtime, leases, objects, {
    name: 'quota',
    reconciler,
    interval: INTERVAL,
    pace: PACE,
    subscribe(wake) {
      changes.wake = wake;
      return () => {};
    },
  });
  let unmeasure = () => {};
  return {
    reconciler,
    start() {
      unmeasure = telemetry.measure(QUOTA_USED, () => highUsage(reconciler.counter?.quotas() ?? []));
      informers.start();
      controller.start();
    },
    async stop() {
      unmeasure();
      await Promise.all([controller.stop(), informers.stop()]);
    },
  };
}

/** @param startedAt of the process, in milliseconds since the epoch */
export function createQuotaReadiness(
  reconciler: { readonly counter: Pick<UsageCounter, 'unlisted'> | undefined },
  clock: Clock,
  startedAt: number,
): ReadinessCheck {
  return {
    name: 'quota',
    notReadyBecause() {
      const unlisted = [...(reconciler.counter?.unlisted ?? [])];
      return unlisted.length > 0 && clock.now() - startedAt < READY_TIMEOUT
        ? `cannot be listed, so they are not counted: ${unlisted.join(', ')}`
        : undefined;
    },
  };
}

/** From which the use of a resource is measured, and in how many series at most: the highest. */
const HIGH = 0.8;
const MAX_SERIES = 1_000;

export function highUsage(quotas: readonly TenantQuota[]): Readings<typeof QUOTA_USED.labels> {
  return quotas
    .flatMap(({ metadata: { name: tenant }, spec: { hard }, status: { used = {} } }) =>
      Object.entries(hard).map(
        ([resource, most]) => [{ tenant, resource }, usedRatio(used[resource] ?? '0', most)] as const,
      ),
    )
    .filter(([, ratio]) => ratio >= HIGH)
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_SERIES);
}

interface QuotaDecisions {
  readonly informers: Informers;
  readonly reservations: Reservations;
  readonly namespaceQuotas: NamespaceQuotas | undefined;
}

const DECISIONS = new ComponentType<QuotaDecisions>('quota decisions', {
  ...INFORMS,
  dispose: ({ reservations }) => reservations.close(),
});

/**
 * What the admission webhook decides besides.
 *
 * @param upstream with a credential that may reserve
 * @returns none without the section `quota`
 */
export function createQuotaRules(
  { parts, scope, runtime }: Pick<FeatureBuild<QuotaParts>, 'parts' | 'scope' | 'runtime'>,
  upstream: Handle<Upstream> | undefined,
): ReviewRule[] {
  if (parts.decisions === undefined || upstream === undefined) return [];
  const { mode, tenancy } = parts.decisions;
  const { clock, random } = runtime;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const { reservations, namespaceQuotas } = scope.component(
    DECISIONS,
    parts.decisions,
    [upstream],
    ({ place, mode, tenancy }, [upstream]) => {
      const reserves = mode === 'enforce';
      const informers = new Informers({ ...runtime, upstream, name: 'resource-quotas' });
      return {
        informers,
        reservations: createReservations({ objects, place, clock, random, reserves }),
        namespaceQuotas: reserves
          ? createNamespaceQuotas({ informers, objects, clock, everywhere: everywhere(tenancy.facts) })
          : undefined,
      };
    },
  );
  const tenantOf = createQuotaTenants({ tenancy, objects, clock });
  const review = createQuotaReviewer({ ...runtime, tenantOf, reservations, namespaceQuotas, mode });
  return [{ isPath: isQuotaPath, review }];
}
