/**
 * The RBAC index of this process as a component: it outlives reloads that leave the API server and the
 * tenancy mode as they are, and takes up a renewed credential without a new list.
 */
import { TrackedIndex } from '../access/index-state.ts';
import type { AccessIndex } from '../access/ports.ts';
import { INDEXED_RESOURCES } from '../api/rbac-v1.ts';
import { createRBACWatches, type RBACWatches } from '../clients/rbac-watches.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { ReadinessCheck } from '../lib/readiness.ts';
import type { IndexMeasures, Telemetry } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import { RBACIndex } from '../rbac/rbac-index.ts';
import type { Build, RuntimeDependencies } from './build.ts';
import { ComponentType } from './component.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createOwnUpstream } from './upstream.ts';

type IndexUpstream = UpstreamFetcher & UpstreamStreamer;

/** Milliseconds after the start of the process for which it is not ready without a complete index. */
const READY_TIMEOUT = 60_000;

/** Milliseconds after which all is listed again while the index is off: it may fit by now. */
const RETRY_OFF = 600_000;
const OFF =
  'the RBAC index is off, in arktos mode for this tenant, since there are more objects than access.maxIndexBytes allows: requests are forwarded as if there were none';
const ON = 'the RBAC index is on again';

const RBAC_INDEX = new ComponentType<IndexComponent>('RBAC index', {
  start: (index) => index.start(),
  stop: (index) => index.stop(),
});

/** Connects the index with the upstream of a generation, once that is in force. */
const RBAC_INDEX_UPSTREAM = new ComponentType<{ connect(): void }>('upstream of the RBAC index', {
  start: (connection) => connection.connect(),
});

/** @returns undefined if the configuration has no index */
export function createAccessIndex(build: Build): AccessIndex | undefined {
  return createIndexComponent(build)?.tracked;
}

/** @param startedAt of the process: a reload that turns the index on makes no process unready */
export function createIndexReadiness(build: Build, startedAt: number): ReadinessCheck | undefined {
  const component = createIndexComponent(build);
  const { clock } = build.runtime;
  return (
    component && {
      name: 'rbac index',
      notReadyBecause: () =>
        clock.now() - startedAt < READY_TIMEOUT && component.tracked.state('') === 'notSynced'
          ? component.tracked.incompleteReason('', 'all')
          : undefined,
    }
  );
}

function createIndexComponent(build: Build): IndexComponent | undefined {
  const { generation, loaded, runtime } = build;
  const { access, tenancy } = loaded.configuration;
  const { systemTenant } = tenancy;
  if (!access.index) return undefined;
  const upstream = createOwnUpstream(build);
  const hasTenants = createTenancyMode(loaded.configuration).readsTenantFromPath;
  const index = generation.component(RBAC_INDEX, {
    fingerprint: fingerprintOfIndex(build),
    create: () =>
      new IndexComponent({
        ...runtime,
        upstream,
        hasTenants,
        systemTenant,
        maxBytes: access.maxIndexBytes,
      }),
  });
  generation.component(RBAC_INDEX_UPSTREAM, {
    fingerprint: [],
    uses: [upstream, index],
    create: () => ({ connect: () => index.connect(upstream) }),
  });
  return index;
}

/** What the index is built from: what refers to it is built anew with it. */
export function fingerprintOfIndex({ loaded }: Build): readonly unknown[] {
  const { upstream, tenancy, access } = loaded.configuration;
  return [upstream.server, tenancy.mode, tenancy.systemTenant, access.maxIndexBytes];
}

interface IndexOptions extends RuntimeDependencies {
  readonly upstream: IndexUpstream;
  readonly hasTenants: boolean;
  readonly systemTenant: string;
  readonly maxBytes: number;
}

class IndexComponent {
  readonly tracked: TrackedIndex;
  readonly #watches: RBACWatches;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #telemetry: Telemetry;
  #upstream: IndexUpstream;
  #timer: Timer | undefined;
  #retry: Timer | undefined;

  constructor({ upstream, hasTenants, systemTenant, maxBytes, ...runtime }: IndexOptions) {
    this.#clock = runtime.clock;
    this.#logger = runtime.logger;
    this.#telemetry = runtime.telemetry;
    this.#upstream = upstream;
    this.tracked = new TrackedIndex({
      index: new RBACIndex({ systemTenant, maxBytes }),
      clock: runtime.clock,
    });
    this.#watches = createRBACWatches({
      ...runtime,
      tracked: this.tracked,
      hasTenants,
      upstream: () => this.#upstream,
    });
  }

  start(): void {
    this.#telemetry.indexInForce(() => this.#measures());
    this.#tellOfSync();
    this.tracked.index.subscribe({
      reset: (tenant) => {
        if (this.tracked.index.isOff(tenant)) this.#logger.warn({ tenant }, OFF);
        else this.#logger.info({ tenant }, ON);
      },
    });
    this.#watches.start();
    this.#retryOff();
  }

  /** @param upstream as before, or with a renewed credential */
  connect(upstream: IndexUpstream): void {
    if (upstream === this.#upstream) return;
    this.#upstream = upstream;
    this.#watches.reconnect();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#retry?.cancel();
    this.tracked.stop();
    this.#telemetry.indexInForce(undefined);
    await this.#watches.stop();
  }

  #tellOfSync(): void {
    const { index } = this.tracked;
    const startedAt = this.#clock.now();
    this.#timer = this.#clock.after(READY_TIMEOUT, () =>
      this.#logger.warn(
        { reason: this.tracked.incompleteReason('', 'all') },
        'the RBAC index is not complete yet: requests are forwarded as if there were none',
      ),
    );
    const unsubscribe = index.subscribe({
      progressed: (revision) => {
        unsubscribe();
        this.#timer?.cancel();
        const objects = Object.fromEntries(
          INDEXED_RESOURCES.map((resource) => [resource, index.countOf(resource)]),
        );
        const seconds = (this.#clock.now() - startedAt) / 1000;
        this.#logger.info({ revision, seconds, ...objects }, 'the RBAC index is complete');
      },
    });
  }

  #retryOff(): void {
    this.#retry = this.#clock.after(RETRY_OFF, () => {
      if (this.tracked.index.tenantsOff > 0) this.#watches.listAnew();
      this.#retryOff();
    });
  }

  #measures(): IndexMeasures {
    const { index } = this.tracked;
    return {
      bytes: index.size,
      tenantsOff: index.tenantsOff,
      tooLarge: index.tooLarge,
      synced: index.isSynced,
      revision: index.revision,
      resources: INDEXED_RESOURCES.map((resource) => {
        const age = this.tracked.ageOf(resource);
        return {
          resource,
          objects: index.countOf(resource),
          ageSeconds: age === undefined ? undefined : age / 1000,
        };
      }),
    };
  }
}
