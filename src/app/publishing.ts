/**
 * Publishing as a component: with the section `publishing` objects are copied to tenants; without it the
 * copies are deleted, unless they are to stay.
 */
import type { PublishingConfiguration } from '../api/config-publishing-v1alpha1.ts';
import { TENANT_KINDS } from '../api/published-objects.ts';
import { createObjects } from '../clients/objects.ts';
import { createPublishedChanges } from '../clients/published-changes.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import { createRulesCheck } from '../policy/granted-rules.ts';
import { InvalidPolicy } from '../policy/invalid-policy.ts';
import { matchesPattern } from '../publishing/name-pattern.ts';
import { type PublishingRules, planPublishing } from '../publishing/plan.ts';
import { type ReadOptions, readPublishing } from '../publishing/read-state.ts';
import { watchedObjects } from '../publishing/watched.ts';
import { applyPlan } from '../reconcile/apply.ts';
import { type Controller, createController, type Reconciler } from '../reconcile/controller.ts';
import type { Plan } from '../reconcile/plan.ts';
import type { Build } from './build.ts';
import type { CommandReconciler } from './commands/run-reconciler.ts';
import { ComponentType } from './component.ts';
import { createControllerLease } from './controller-lease.ts';
import { createServedProvisioningUpstream } from './provisioning.ts';

interface Publishing {
  readonly controller: Controller;
  /** Whether copies are made, or only deleted. */
  readonly publishes: boolean;
}

const PUBLISHING = new ComponentType<Publishing>('publishing', {
  start: ({ controller }) => controller.start(),
  stop: ({ controller }) => controller.stop(),
});

/**
 * Milliseconds after the start of a process without the section: nothing waits for the deletion of copies
 * that a former configuration has left.
 */
const REMOVAL_DELAY = 30_000;
/** Milliseconds; without the section only failed runs are repeated. */
const INTERVAL = 300_000;

/** @param keep whether copies stay if the configuration has no section `publishing` any more */
export function createServedPublishing(build: Build, keep: boolean): void {
  const { loaded, generation, runtime } = build;
  const { publishing, access, tenancy } = loaded.configuration;
  const upstream = createServedProvisioningUpstream(build);
  if (upstream === undefined || (publishing === undefined && keep)) return;
  generation.component(PUBLISHING, {
    fingerprint: [publishing ?? 'none', access.grantable, tenancy],
    uses: [upstream],
    create(previous) {
      const options = publishingOptions(loaded, upstream, publishing === undefined);
      const wasPublishing = previous.some((one) => one.publishes);
      const controller = createController({
        ...runtime,
        name: 'publishing',
        reconciler: createReconciler(options),
        lease: createControllerLease(build, 'publishing', options.objects),
        interval: publishing?.interval ?? INTERVAL,
        ...(publishing === undefined && { once: true, startDelay: wasPublishing ? 0 : REMOVAL_DELAY }),
        ...(publishing && {
          subscribe(wake) {
            const watched = watchedObjects(publishing, options.rules);
            const changes = createPublishedChanges({ ...runtime, upstream, watched, onChange: wake });
            changes.start();
            return () => changes.stop();
          },
        }),
      });
      return { controller, publishes: publishing !== undefined };
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
  const check = createRulesCheck(access.grantable);
  const rules: PublishingRules = {
    mode: tenancy.mode,
    systemTenant: tenancy.systemTenant,
    namespaces: section.namespaces,
    mayGrant: (given) => mayGrant(() => check(given, 'rules')),
    mayPublishName: (kind, name) =>
      section.clusterScoped.some(
        (one) =>
          one.kind.group === kind.group &&
          one.kind.resource === kind.resource &&
          matchesPattern(one.names, name),
      ),
  };
  return { objects: createObjects(fetcher), rules, configuration: section, withdraw };
}

/** All built-in kinds may have copies. */
function withoutSection(mode: 'arktos' | 'shared'): PublishingConfiguration {
  const clusterScoped = mode === 'arktos' ? TENANT_KINDS.map((kind) => ({ kind, names: '*' })) : [];
  return { namespaces: [], clusterScoped, kinds: [], interval: INTERVAL };
}

function mayGrant(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof InvalidPolicy) return false;
    throw error;
  }
}

/** Plans one run and applies it, for `stonegate publish`. */
export function createCommandPublishing(
  loaded: LoadedConfiguration,
  fetcher: UpstreamFetcher,
  remove: boolean,
): CommandReconciler {
  const options = publishingOptions(loaded, fetcher, remove);
  return {
    plan: (signal) => planOf(options, signal),
    apply: (plan, applyOptions) => applyPlan(plan, { ...applyOptions, objects: options.objects }),
  };
}
