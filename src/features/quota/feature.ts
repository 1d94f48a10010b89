/**
 * The quota of each tenant: decided in the admission webhook, counted and written by a controller.
 */

import type { RuntimeDependencies } from '../../config/build.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import type { GenerationBuilder } from '../../config/generation.ts';
import { Informers } from '../../kubernetes/informers.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import type { QuotaMeasure } from '../../lib/telemetry.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { ReviewRule } from '../admission/feature.ts';
import type { FeatureBuild } from '../build.ts';
import { INFORMS } from '../component-with-informers.ts';
import type { KeystoneQuota } from '../keystone-limits/feature.ts';
import { createLeasedController } from '../leased-controller.ts';
import { operatorPlace } from '../tenancy-mode.ts';
import { isQuotaPath } from './counted-writes.ts';
import { createNamespaceQuotas, type NamespaceQuotas } from './namespace-quotas.ts';
import { usedRatio } from './own-quota-v1alpha1.ts';
import { createQuotaReconciler, type QuotaReconciler } from './quota-reconciler.ts';
import { createQuotaReviewer } from './quota-reviewer.ts';
import { arktosQuotaTenants, sharedQuotaTenants } from './quota-tenants.ts';
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
  build: FeatureBuild,
  keystoneQuota: KeystoneQuota | undefined,
): QuotaReconciler | undefined {
  const { generation, loaded, runtime, provisioningUpstream: upstream } = build;
  const { quota, tenancy } = loaded.configuration;
  const { telemetry } = runtime;
  if (quota === undefined || upstream === undefined) return undefined;
  return generation.component(QUOTA_CONTROLLER, {
    fingerprint: [quota, tenancy],
    uses: [upstream, keystoneQuota],
    create() {
      const objects = createObjects(upstream, STONEGATE_ACCOUNT);
      const place = operatorPlace(quota, tenancy);
      const changes = { wake: () => {} };
      const quotas = new StoredQuotas(runtime);
      const informers = new Informers({ ...runtime, upstream, name: 'tenant-quotas' });
      quotas.addTo(informers, place, () => changes.wake());
      const reconciler = createQuotaReconciler({
        objects,
        place,
        byDefault: quota.default,
        ofTenants: keystoneQuota?.ofTenants,
        createCounter: () =>
          new UsageCounter({
            ...runtime,
            upstream,
            objects,
            quotas,
            place,
            byDefault: quota.default,
            systemTenant: tenancy.mode === 'arktos' ? tenancy.systemTenant : undefined,
            count: quota.count,
            onChange: () => changes.wake(),
            onRepair: (tenant) => {
              telemetry.quotaRepaired();
              runtime.logger.warn({ tenant }, 'quota: the counted usage was changed by another client');
            },
          }),
      });
      const controller = createLeasedController(build, objects, {
        name: 'quota',
        reconciler,
        interval: INTERVAL,
        pace: PACE,
        subscribe(wake) {
          changes.wake = wake;
          return () => {
            changes.wake = () => {};
          };
        },
      });
      let unmeasure = () => {};
      return {
        reconciler,
        start() {
          unmeasure = telemetry.quotasInForce(() => highUsage(reconciler.counter?.quotas() ?? []));
          informers.start();
          controller.start();
        },
        async stop() {
          unmeasure();
          await Promise.all([controller.stop(), informers.stop()]);
        },
      };
    },
  }).reconciler;
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

export function highUsage(quotas: readonly TenantQuota[]): readonly QuotaMeasure[] {
  return quotas
    .flatMap(({ metadata: { name: tenant }, spec: { hard }, status: { used = {} } }) =>
      Object.entries(hard).map(([resource, most]) => {
        return { tenant, resource, usedRatio: usedRatio(used[resource] ?? '0', most) };
      }),
    )
    .filter((measure) => measure.usedRatio >= HIGH)
    .sort((one, other) => other.usedRatio - one.usedRatio)
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

/** What the admission webhook is built from, in its own process too. */
export interface QuotaWebhookBuild {
  readonly loaded: { readonly configuration: Pick<StonegateConfiguration, 'tenancy' | 'quota'> };
  readonly generation: GenerationBuilder;
  readonly runtime: RuntimeDependencies;
}

/**
 * What the admission webhook decides besides.
 *
 * @param upstream with a credential that may reserve
 * @returns none without the section `quota`
 */
export function createQuotaRules(
  { loaded, generation, runtime }: QuotaWebhookBuild,
  upstream: Upstream | undefined,
): ReviewRule[] {
  const { quota, tenancy } = loaded.configuration;
  if (quota === undefined || upstream === undefined) return [];
  const { clock, random } = runtime;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const { reservations, namespaceQuotas } = generation.component(DECISIONS, {
    fingerprint: [quota, tenancy],
    uses: [upstream],
    create: () => {
      const reserves = quota.mode === 'enforce';
      const everywhere = tenancy.mode === 'arktos' ? { tenant: 'all' } : {};
      const informers = new Informers({ ...runtime, upstream, name: 'resource-quotas' });
      return {
        informers,
        reservations: createReservations({
          objects,
          place: operatorPlace(quota, tenancy),
          clock,
          random,
          reserves,
        }),
        namespaceQuotas: reserves
          ? createNamespaceQuotas({ informers, objects, clock, everywhere })
          : undefined,
      };
    },
  });
  const tenantOf =
    tenancy.mode === 'arktos'
      ? arktosQuotaTenants(tenancy.systemTenant)
      : sharedQuotaTenants({ objects, clock });
  const review = createQuotaReviewer({
    ...runtime,
    tenantOf,
    reservations,
    namespaceQuotas,
    mode: quota.mode,
  });
  return [{ isPath: isQuotaPath, review }];
}
