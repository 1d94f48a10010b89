/**
 * The quota of each tenant: decided in the admission webhook, counted and written by a controller.
 */

import type { RuntimeDependencies } from '../../config/build.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import type { StonegateConfiguration } from '../../config/configuration.ts';
import type { GenerationBuilder } from '../../config/generation.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { QuotaMeasure } from '../../lib/telemetry.ts';
import type { Upstream } from '../../upstream/upstream.ts';
import type { ReviewRule } from '../admission/feature.ts';
import type { FeatureBuild } from '../build.ts';
import type { KeystoneQuota } from '../keystone-limits/feature.ts';
import { createLeasedController } from '../leased-controller.ts';
import { operatorPlace } from '../tenancy-mode.ts';
import { isQuotaPath } from './counted-writes.ts';
import { usedRatio } from './own-quota-v1alpha1.ts';
import { createQuotaReconciler, type QuotaReconciler } from './quota-reconciler.ts';
import { createQuotaReviewer } from './quota-reviewer.ts';
import { arktosQuotaTenants, sharedQuotaTenants } from './quota-tenants.ts';
import { createReservations, type Reservations } from './reservations.ts';
import type { TenantQuota } from './tenant-quota-v1alpha1.ts';
import { UsageCounter } from './usage-counter.ts';

/** Milliseconds between two runs without a change: reservations end with time. */
const INTERVAL = 10_000;
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
            place,
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
          controller.start();
        },
        stop() {
          unmeasure();
          return controller.stop();
        },
      };
    },
  }).reconciler;
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

const RESERVATIONS = new ComponentType<Reservations>('quota reservations', {
  dispose: (reservations) => reservations.close(),
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
  const { clock } = runtime;
  const objects = createObjects(upstream, STONEGATE_ACCOUNT);
  const reservations = generation.component(RESERVATIONS, {
    fingerprint: [quota, tenancy],
    uses: [upstream],
    create: () =>
      createReservations({
        objects,
        place: operatorPlace(quota, tenancy),
        reserves: quota.mode === 'enforce',
      }),
  });
  const tenantOf =
    tenancy.mode === 'arktos'
      ? arktosQuotaTenants(tenancy.systemTenant)
      : sharedQuotaTenants({ objects, clock });
  const review = createQuotaReviewer({ ...runtime, tenantOf, reservations, mode: quota.mode });
  return [{ isPath: isQuotaPath, review }];
}
