/**
 * What a process serves with one configuration: the value of a generation.
 */
import type { Drops } from '../cache/drops.ts';
import { counted } from '../config/build.ts';
import { formatProblem } from '../config/problem.ts';
import type { RequestedTotals } from '../features/usage/feature.ts';
import type { Exchange } from '../lib/exchange.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { ResponseMemory } from '../limits/response-memory.ts';
import type { RequestObserver } from '../observability/request-observer.ts';
import type { StreamRegistry } from '../proxy/streams/stream-registry.ts';
import { withBackends } from './backends.ts';
import type { InForce, MembershipLog, PortalState } from './build-features.ts';
import { buildListeners } from './build-listeners.ts';
import { configurationWarnings, type StonegateBuild } from './configuration.ts';
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
  /** Maps the name of a listener to the function that serves it; undefined if it is not configured. */
  readonly serve: Readonly<Record<string, Serve | undefined>>;
  readonly checks: readonly ReadinessCheck[];
  readonly drops: Drops;
  /** What the objects of each project request; empty on a replica that does not count. */
  readonly requested: () => readonly RequestedTotals[];
  /** What the operator should know of this configuration. */
  readonly warnings: readonly string[];
}

export function createServing(components: StonegateBuild, process: ServingProcess): Serving {
  const build = withBackends(components);
  const { inFlight } = build.generation;
  const proxy = createProxy(build, { ...process, controllers: process });
  const { features, stages, recheck, permits, clear } = proxy;
  const { listeners, readiness, syncRules } = buildListeners(build, features, stages, process);
  return {
    recheck,
    permits,
    clear,
    serve: {
      api: proxy.serve,
      ...Object.fromEntries(
        Object.entries(listeners).map(([name, serve]) => [name, serve && counted(serve, inFlight)]),
      ),
    },
    checks: [...features.extensions.readiness, ...readiness],
    upstream: build.upstream,
    syncRules,
    drops: build.shared.drops,
    requested: features.requested,
    warnings: configurationWarnings(build.loaded.configuration).map(formatProblem),
  };
}
