/**
 * What a process serves with one configuration: the value of a generation.
 */

import type { Drops } from '../cache/drops.ts';
import { type Build, counted } from '../config/build.ts';
import type { StonegateConfiguration } from '../config/configuration.ts';
import { formatProblem } from '../config/problem.ts';
import { configurationWarnings } from '../config/validate.ts';
import { createConfiguredAdmission } from '../features/admission/feature.ts';
import { createServedProvisioning } from '../features/bindings/feature.ts';
import { USERS_WARNING } from '../features/bindings/grants.ts';
import type { FeatureBuild } from '../features/build.ts';
import {
  createPolicies,
  createPolicyController,
  type MembershipLog,
} from '../features/cross-tenant/feature.ts';
import { createServedKeystoneQuota } from '../features/keystone-limits/feature.ts';
import { createConfiguredPortal, type PortalState } from '../features/portal/feature.ts';
import { createServedPublishing } from '../features/publishing/feature.ts';
import { createQuotaController, createQuotaReadiness, createQuotaRules } from '../features/quota/feature.ts';
import { createIndexReadiness } from '../features/rbac-index/feature.ts';
import { createTeamReadiness } from '../features/teams/memberships.ts';
import type { RequestedTotals } from '../features/usage/feature.ts';
import { createConfiguredWebhook, type InForce } from '../features/webhook/feature.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { RequestObserver } from '../observability/request-observer.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { createKeystoneAuthentication } from './authenticators.ts';
import { withBackends } from './backends.ts';
import { type ConfiguredProxy, createProxy } from './proxy.ts';

type Serve = (exchange: Exchange) => Promise<void>;

/** The state of one process that survives reloads. */
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

export interface Serving extends Pick<ConfiguredProxy, 'recheck' | 'permits' | 'clear'>, InForce {
  readonly api: Serve;
  /** Undefined if the configuration has no portal. */
  readonly portal: Serve | undefined;
  /** Undefined if the configuration has no webhook. */
  readonly webhook: Serve | undefined;
  /** Undefined if the configuration has no admission webhook. */
  readonly admission: Serve | undefined;
  readonly checks: readonly ReadinessCheck[];
  readonly drops: Drops;
  /** What the objects of each project request; empty on a replica that does not count. */
  readonly requested: () => readonly RequestedTotals[];
  /** What the operator should know of this configuration. */
  readonly warnings: readonly string[];
}

export function createServing(components: Build, process: ServingProcess): Serving {
  const build = withBackends(components);
  const { configuration } = build.loaded;
  const { inFlight } = build.generation;
  const keystoneQuota = createServedKeystoneQuota(build);
  const provisioning = createServedProvisioning(build, keystoneQuota);
  const policies = createPolicies(build);
  const { memberships, keep } = process;
  createPolicyController(build, { updates: policies?.updates, keep, memberships });
  createServedPublishing(build, keep);
  const quota = createQuotaController(build, keystoneQuota);
  const proxy = createProxy(build, { ...process, provisioning, policies: policies?.policies });
  const { stages } = proxy;
  const portal = process.portal && createConfiguredPortal(build, proxy, process.portal);
  const webhook = process.hasWebhook ? createServedWebhook(build, stages.mode, process.inForce) : undefined;
  const admission = createConfiguredAdmission(
    build,
    build.upstream,
    createQuotaRules(build, build.provisioningUpstream),
  );
  const indexReadiness = createIndexReadiness(build, process.startedAt);
  const teamReadiness = createTeamReadiness(build, process.startedAt);
  return {
    api: proxy.serve,
    recheck: proxy.recheck,
    permits: proxy.permits,
    clear: proxy.clear,
    portal: portal && counted(portal, inFlight),
    webhook: webhook && counted(webhook.serve, inFlight),
    admission: admission && counted(admission, inFlight),
    checks: [
      proxy.authentication,
      ...(indexReadiness ? [indexReadiness] : []),
      ...(teamReadiness ? [teamReadiness] : []),
      ...(quota ? [createQuotaReadiness(quota, build.runtime.clock, process.startedAt)] : []),
      ...(webhook?.checks ?? []),
    ],
    upstream: build.upstream,
    syncRules: webhook?.syncRules,
    drops: build.shared.drops,
    requested: () => quota?.counter?.requested() ?? [],
    warnings: [
      ...configurationWarnings(configuration).map(formatProblem),
      ...warningsOf(configuration, webhook !== undefined),
    ],
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

/**
 * One API server sends the reviews of all users, so a limit per address would be one for all; the limit of
 * concurrent validations stays.
 */
const UNLIMITED = { perSecond: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER };

function createServedWebhook(build: FeatureBuild, mode: TenancyMode, inForce: () => InForce) {
  const { keystone } = build.loaded.configuration.authentication;
  // Loading refuses a webhook without Keystone.
  if (keystone === undefined) return undefined;
  const authenticator = createKeystoneAuthentication(build, keystone, mode, UNLIMITED);
  return createConfiguredWebhook(build, { mode, authenticator, inForce });
}
