/**
 * Publishing as a component: with the section `publishing` objects are copied to tenants; without it the
 * copies are deleted, unless they are to stay.
 */
import type { PublishingConfiguration } from '../api/config-publishing-v1alpha1.ts';
import { TENANT_KINDS } from '../api/published-objects.ts';
import { createPublishedChanges, type PublishedChanges } from '../clients/published-changes.ts';
import { createPublishedObjects } from '../clients/published-objects.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import { createRulesCheck } from '../policy/granted-rules.ts';
import { InvalidPolicy } from '../policy/invalid-policy.ts';
import { applyPublishing } from '../publishing/apply.ts';
import { createPublishingController, type PublishingController } from '../publishing/controller.ts';
import { matchesPattern } from '../publishing/name-pattern.ts';
import type { PublishingRules } from '../publishing/plan.ts';
import type { ReadOptions } from '../publishing/read-state.ts';
import { makePublishingPlan, runPublishing } from '../publishing/run.ts';
import { watchedObjects } from '../publishing/watched.ts';
import type { Build } from './build.ts';
import { ComponentType } from './component.ts';
import { createControllerLease } from './controller-lease.ts';
import { createServedProvisioningUpstream } from './provisioning.ts';

interface Publishing {
  start(): void;
  stop(): Promise<void>;
  /** Undefined if copies are only deleted. */
  readonly changes: PublishedChanges | undefined;
}

const PUBLISHING = new ComponentType<Publishing>('publishing', {
  start: (publishing) => publishing.start(),
  stop: (publishing) => publishing.stop(),
});

/**
 * Milliseconds after the start of a process without the section: nothing waits for the deletion of copies
 * that a former configuration has left.
 */
const REMOVAL_DELAY = 30_000;
/** Milliseconds between two looks for copies that nothing asks for, without the section. */
const REMOVAL_INTERVAL = 86_400_000;

/** @param keep whether copies stay if the configuration has no section `publishing` any more */
export function createServedPublishing(build: Build, keep: boolean): void {
  const { loaded, generation, runtime } = build;
  const { publishing, access, tenancy } = loaded.configuration;
  const upstream = createServedProvisioningUpstream(build);
  if (upstream === undefined || (publishing === undefined && keep)) return;
  const { lease, uses } = createControllerLease(build, 'publishing', upstream);
  generation.component(PUBLISHING, {
    fingerprint: [publishing ?? 'none', access.grantable, tenancy],
    uses: [upstream, ...uses.filter((used) => used !== upstream)],
    create(previous) {
      const options = publishingOptions(loaded, upstream, publishing === undefined);
      const controller = createPublishingController({
        ...runtime,
        withdraws: publishing === undefined,
        lease,
        interval: publishing?.interval ?? REMOVAL_INTERVAL,
        async publish(signal) {
          const outcome = await runPublishing({ ...options, signal });
          // There may be no rights to kinds that are not published.
          return publishing === undefined ? { ...outcome, unread: [] } : outcome;
        },
      });
      const changes =
        publishing &&
        createPublishedChanges({
          ...runtime,
          upstream,
          watched: watchedObjects(publishing, options.rules),
          onChange: () => controller.wake(),
        });
      const wasPublishing = previous.some((one) => one.changes !== undefined);
      const delay = publishing === undefined && !wasPublishing ? REMOVAL_DELAY : 0;
      return createPublishing(controller, changes, delay, runtime.clock);
    },
  });
}

function createPublishing(
  controller: PublishingController,
  changes: PublishedChanges | undefined,
  delay: number,
  clock: Clock,
): Publishing {
  let timer: Timer | undefined;
  return {
    changes,
    start() {
      changes?.start();
      if (delay > 0) timer = clock.after(delay, () => controller.start());
      else controller.start();
    },
    async stop() {
      timer?.cancel();
      await Promise.all([controller.stop(), changes?.stop()]);
    },
  };
}

/**
 * @param fetcher with the provisioning credential
 * @param withdraw whether every copy is to be deleted
 */
function publishingOptions(
  { configuration }: LoadedConfiguration,
  fetcher: UpstreamFetcher,
  withdraw: boolean,
): Omit<ReadOptions, 'signal'> {
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
  return { objects: createPublishedObjects(fetcher), rules, configuration: section, withdraw };
}

/** All built-in kinds may have copies. */
function withoutSection(mode: 'arktos' | 'shared'): PublishingConfiguration {
  const clusterScoped = mode === 'arktos' ? TENANT_KINDS.map((kind) => ({ kind, names: '*' })) : [];
  return { namespaces: [], clusterScoped, kinds: [], interval: REMOVAL_INTERVAL };
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

/** For `stonegate publish`: the plan of one run, and its application. */
export function createCommandPublishing(
  loaded: LoadedConfiguration,
  fetcher: UpstreamFetcher,
  remove: boolean,
) {
  const options = publishingOptions(loaded, fetcher, remove);
  return {
    plan: (signal: AbortSignal) => makePublishingPlan({ ...options, signal }),
    apply: (
      plan: Parameters<typeof applyPublishing>[0],
      applyOptions: Omit<Parameters<typeof applyPublishing>[1], 'objects'>,
    ) => applyPublishing(plan, { ...applyOptions, objects: options.objects }),
  };
}
