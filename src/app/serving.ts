/**
 * What a process serves with one configuration: the value of a generation.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { MembershipLog } from '../audit/membership-log.ts';
import { USERS_WARNING } from '../bindings/grants.ts';
import { accessWarnings } from '../config/validate.ts';
import type { Drops } from '../flowcontrol/open-stream.ts';
import type { ResponseMemory } from '../flowcontrol/response-memory.ts';
import type { StreamRegistry } from '../flowcontrol/stream-registry.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { Exchange, RequestObserver } from '../pipeline/ports.ts';
import { createConfiguredAdmission } from './admission.ts';
import { type Build, counted } from './build.ts';
import { createShared } from './cache.ts';
import { type ConfiguredPipeline, createPipeline } from './pipeline.ts';
import { createPolicies } from './policies.ts';
import { createPolicyController } from './policy-controller.ts';
import { createConfiguredPortal, type PortalState } from './portal.ts';
import { createServedProvisioning } from './provisioning.ts';
import { createServedPublishing } from './publishing.ts';
import { createIndexReadiness } from './rbac-index.ts';
import { createOwnUpstream } from './upstream.ts';
import { createConfiguredWebhook, type InForce } from './webhook.ts';

type Serve = (exchange: Exchange) => Promise<void>;

/** What one process keeps over all configurations. */
export interface ServingProcess {
  readonly observer: RequestObserver;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly streams: StreamRegistry;
  readonly responseMemory: ResponseMemory;
  /** Undefined if the process was started without a portal. */
  readonly portal: PortalState | undefined;
  /** Whether the process was started with a webhook. */
  readonly hasWebhook: boolean;
  readonly inForce: () => InForce;
  readonly memberships: MembershipLog;
  /** Whether what Stonegate made for a feature stays if the configuration does not have it any more. */
  readonly keep: boolean;
}

export interface Serving extends Pick<ConfiguredPipeline, 'recheck' | 'permits' | 'clear'>, InForce {
  readonly api: Serve;
  /** Undefined if the configuration has no portal. */
  readonly portal: Serve | undefined;
  /** Undefined if the configuration has no webhook. */
  readonly webhook: Serve | undefined;
  /** Undefined if the configuration has no admission webhook. */
  readonly admission: Serve | undefined;
  readonly checks: readonly ReadinessCheck[];
  readonly drops: Drops;
  /** What the operator should know of this configuration. */
  readonly warnings: readonly string[];
}

export function createServing(build: Build, process: ServingProcess): Serving {
  const { configuration } = build.loaded;
  const { inFlight } = build.generation;
  const provisioning = createServedProvisioning(build);
  const policies = createPolicies(build);
  const { memberships, keep } = process;
  createPolicyController(build, { policies, keep, memberships });
  createServedPublishing(build, keep);
  const pipeline = createPipeline(build, { ...process, provisioning, policies: policies?.policies });
  const { stages } = pipeline;
  const portal = process.portal && createConfiguredPortal(build, pipeline, process.portal);
  const webhook = process.hasWebhook
    ? createConfiguredWebhook(build, stages.mode, process.inForce)
    : undefined;
  const admission = createConfiguredAdmission(build, createOwnUpstream(build));
  const indexReadiness = createIndexReadiness(build, process.startedAt);
  return {
    api: pipeline.serve,
    recheck: pipeline.recheck,
    permits: pipeline.permits,
    clear: pipeline.clear,
    portal: portal && counted(portal, inFlight),
    webhook: webhook && counted(webhook.serve, inFlight),
    admission: admission && counted(admission, inFlight),
    checks: [
      pipeline.authentication,
      ...(indexReadiness ? [indexReadiness] : []),
      ...(webhook?.checks ?? []),
    ],
    upstream: createOwnUpstream(build),
    syncRules: webhook?.syncRules,
    drops: createShared(build).drops,
    warnings: [...accessWarnings(configuration), ...warningsOf(configuration, webhook !== undefined)],
  };
}

function warningsOf({ bindings, webhook }: StonegateConfiguration, servesWebhook: boolean): string[] {
  const bindsUsers = bindings.provision !== 'none' && bindings.subjects === 'users';
  return [
    ...(bindsUsers ? [USERS_WARNING] : []),
    ...(servesWebhook && webhook?.usernames === 'legacy'
      ? ['webhook.usernames is legacy: users of one name in two Keystone domains are one user']
      : []),
  ];
}
