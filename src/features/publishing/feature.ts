/**
 * Publishing as a component: with the section `publishing` objects are copied to tenants; without it the
 * copies are deleted, unless they are to stay.
 */

import { ComponentType, RUNS } from '../../config/component.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { TENANT_KINDS } from '../../kubernetes/published-objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import type { Controller, Reconciler } from '../../kubernetes/reconcile/controller.ts';
import type { Plan } from '../../kubernetes/reconcile/plan.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createRulesCheck } from '../../rbac/granted-rules.ts';
import type { FeatureBuild } from '../build.ts';
import { createLeasedController } from '../leased-controller.ts';
import { type PublishingRules, planPublishing } from './plan.ts';
import { createPublishedChanges, watchedObjects } from './published-changes.ts';
import { matchesPattern, type PublishingConfiguration } from './publishing-configuration.ts';
import { type ReadOptions, readPublishing } from './read-state.ts';

const PUBLISHING = new ComponentType<Controller>('publishing', RUNS);

/** Milliseconds; without the section only failed runs are repeated. */
const INTERVAL = 300_000;

/** @param keep whether copies stay if the configuration has no section `publishing` any more */
export function createServedPublishing(build: FeatureBuild, keep: boolean): void {
  const { loaded, generation, runtime } = build;
  const { publishing, access, tenancy } = loaded.configuration;
  const { provisioningUpstream: upstream } = build;
  if (upstream === undefined || (publishing === undefined && keep)) return;
  generation.component(PUBLISHING, {
    fingerprint: [publishing ?? 'none', access.grantable, tenancy],
    uses: [upstream],
    create() {
      const options = publishingOptions(loaded, upstream, publishing === undefined);
      return createLeasedController(build, options.objects, {
        name: 'publishing',
        reconciler: createReconciler(options),
        interval: publishing?.interval ?? INTERVAL,
        once: publishing === undefined,
        ...(publishing && {
          subscribe(wake) {
            const watched = watchedObjects(publishing, options.rules);
            const changes = createPublishedChanges({ ...runtime, upstream, watched, onChange: wake });
            changes.start();
            return () => changes.stop();
          },
        }),
      });
    },
  });
}

type PublishingOptions = Omit<ReadOptions, 'signal'>;

function createReconciler(options: PublishingOptions): Reconciler {
  return {
    async plan(signal) {
      const plan = await planOf(options, signal);
      // There may be no rights to kinds that are not published.
      return options.withdraw === true ? { ...plan, unread: [] } : plan;
    },
    apply: (plan, signal) => applyPlan(plan, { objects: options.objects, signal }),
  };
}

async function planOf(options: PublishingOptions, signal: AbortSignal): Promise<Plan> {
  return planPublishing(await readPublishing({ ...options, signal }), options.rules);
}

/**
 * @param fetcher with the provisioning credential
 * @param withdraw whether every copy is to be deleted
 */
function publishingOptions(
  { configuration }: LoadedConfiguration,
  fetcher: UpstreamFetcher,
  withdraw: boolean,
): PublishingOptions {
  const { publishing, tenancy, access } = configuration;
  const section = publishing ?? withoutSection(tenancy.mode);
  const rules: PublishingRules = {
    mode: tenancy.mode,
    systemTenant: tenancy.systemTenant,
    namespaces: section.namespaces,
    checkRules: createRulesCheck(access.grantable),
    mayPublishName: (kind, name) =>
      section.clusterScoped.some(
        (one) =>
          one.kind.group === kind.group &&
          one.kind.resource === kind.resource &&
          matchesPattern(one.names, name),
      ),
  };
  return { objects: createObjects(fetcher, STONEGATE_ACCOUNT), rules, configuration: section, withdraw };
}

/** All built-in kinds may have copies. */
function withoutSection(mode: 'arktos' | 'shared'): PublishingConfiguration {
  const clusterScoped = mode === 'arktos' ? TENANT_KINDS.map((kind) => ({ kind, names: '*' })) : [];
  return { namespaces: [], clusterScoped, kinds: [], interval: INTERVAL };
}

/** The plan of `stonegate publish`, and the objects to which it is applied. */
export function createCommandPublishing(
  loaded: LoadedConfiguration,
  fetcher: UpstreamFetcher,
  remove: boolean,
) {
  const options = publishingOptions(loaded, fetcher, remove);
  return { plan: (signal: AbortSignal) => planOf(options, signal), objects: options.objects };
}
