/**
 * Publishing as a component: with the section `publishing` objects are copied to tenants; without it the
 * copies are deleted, unless they are to stay.
 */

import { ComponentType, RUNS } from '../../config/component.ts';
import { createObjects } from '../../kubernetes/objects.ts';
import { TENANT_KINDS } from '../../kubernetes/published-objects.ts';
import { applyPlan } from '../../kubernetes/reconcile/apply.ts';
import type { Controller, Reconciler } from '../../kubernetes/reconcile/controller.ts';
import type { Plan } from '../../kubernetes/reconcile/plan.ts';
import type { UpstreamFetcher } from '../../kubernetes/upstream-ports.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { createRulesCheck } from '../../rbac/granted-rules.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import type { FeatureBuild } from '../build.ts';
import { createLeasedController } from '../leased-controller.ts';
import type { PublishingParts } from './feature.ts';
import { type PublishingRules, planPublishing } from './plan.ts';
import { createPublishedChanges, watchedObjects } from './published-changes.ts';
import { matchesPattern, type PublishingConfiguration } from './publishing-configuration.ts';
import { type ReadOptions, readPublishing } from './read-state.ts';

const PUBLISHING = new ComponentType<Controller>('publishing', RUNS);

/** Milliseconds; without the section only failed runs are repeated. */
const INTERVAL = 300_000;

/** @param keep whether copies stay if the configuration has no section `publishing` any more */
export function createServedPublishing(
  { parts, scope, runtime, provisioningUpstream }: FeatureBuild<PublishingParts>,
  keep: boolean,
): void {
  if (provisioningUpstream === undefined || (parts.copies.publishing === undefined && keep)) return;
  scope.component(PUBLISHING, parts.copies, [provisioningUpstream], (part, [upstream]) => {
    const { publishing, leases } = part;
    const options = publishingOptions(part, upstream, publishing === undefined);
    return createLeasedController(runtime, leases, options.objects, {
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
  { publishing, tenancy, grantable }: PublishingParts['copies'],
  fetcher: UpstreamFetcher,
  withdraw: boolean,
): PublishingOptions {
  const section = publishing ?? withoutSection(tenancy.facts);
  const rules: PublishingRules = {
    facts: tenancy.facts,
    systemTenant: tenancy.systemTenant,
    namespaces: section.namespaces,
    checkRules: createRulesCheck(grantable),
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
function withoutSection({ hasTenantsInPaths }: TenancyFacts): PublishingConfiguration {
  const clusterScoped = hasTenantsInPaths ? TENANT_KINDS.map((kind) => ({ kind, names: '*' })) : [];
  return { namespaces: [], clusterScoped, kinds: [], interval: INTERVAL };
}

/** The plan of `stonegate publish`, and the objects to which it is applied. */
export function createCommandPublishing(
  { copies }: PublishingParts,
  fetcher: UpstreamFetcher,
  remove: boolean,
) {
  const options = publishingOptions(copies, fetcher, remove);
  return { plan: (signal: AbortSignal) => planOf(options, signal), objects: options.objects };
}
