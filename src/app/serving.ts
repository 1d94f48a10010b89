/**
 * What a process serves with one configuration: the value of a generation.
 */
import type { Drops } from '../cache/drops.ts';
import { formatProblem } from '../config/problem.ts';
import type { RequestedTotals } from '../features/usage/feature.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { RequestObserver } from '../observability/request-observer.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import type { Served } from './app.ts';
import { withBackends } from './backends.ts';
import type { InForce, MembershipLog, PortalState } from './build-features.ts';
import { buildListeners } from './build-listeners.ts';
import { configurationWarnings, type StonegateBuild } from './configuration.ts';
import { type ServedListener, tlsMaterial } from './listeners.ts';
import { type ConfiguredProxy, createProxy } from './proxy.ts';

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

export interface Serving extends Pick<ConfiguredProxy, 'recheck' | 'permits' | 'clear'>, InForce, Served {
  readonly checks: readonly ReadinessCheck[];
  readonly drops: Drops;
  /** What the objects of each project request; empty on a replica that does not count. */
  readonly requested: () => readonly RequestedTotals[];
}

export function createServing(components: StonegateBuild, process: ServingProcess): Serving {
  const build = withBackends(components);
  const proxy = createProxy(build, { ...process, controllers: process });
  const { features, stages, recheck, permits, clear } = proxy;
  const { listeners, readiness, syncRules } = buildListeners(build, features, stages, process);
  return {
    recheck,
    permits,
    clear,
    listeners: [apiListener(build, proxy), ...listeners],
    checks: [...features.extensions.readiness, ...readiness],
    upstream: build.upstream,
    syncRules,
    drops: build.shared.drops,
    requested: features.requested,
    warnings: configurationWarnings(build.loaded.configuration).map(formatProblem),
  };
}

/** The proxy counts the API's requests itself: they are in flight until they are forwarded. */
function apiListener({ loaded }: StonegateBuild, { serve }: ConfiguredProxy): ServedListener {
  const { server, authentication } = loaded.configuration;
  const { clientCertificates } = authentication;
  const { bind, http2, timeouts, limits } = server;
  const tls = {
    ...tlsMaterial(server.tls, loaded.file),
    ...(clientCertificates && { credentialCA: loaded.file(clientCertificates.caFile) }),
  };
  return { name: 'api', bind, http2, timeouts, limits, tls, serve };
}
