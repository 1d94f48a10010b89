/**
 * The RBAC index of this process as a component: it outlives reloads that leave the API server and the
 * tenancy mode as they are, and takes up a renewed credential without a new list.
 */

import type { RuntimeDependencies } from '../../config/build.ts';
import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import type { Informers, InformerUpstream } from '../../kubernetes/informers.ts';
import { INDEXED_RESOURCES } from '../../kubernetes/rbac-v1.ts';
import type { Timer } from '../../lib/clock.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import type { IndexMeasures } from '../../lib/telemetry.ts';
import type { WatchLifetimes } from '../../proxy/response/watch-lifetimes.ts';
import { AccessChanges } from '../../rbac/access-changes.ts';
import { AccessIndex } from '../../rbac/access-index.ts';
import { RBACIndex } from '../../rbac/rbac-index.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { createComponentWithInformers } from '../component-with-informers.ts';
import { watchLifetimesOf } from '../watch-lifetimes.ts';
import type { IndexReadParts } from './feature.ts';
import { createRBACInformers } from './rbac-informers.ts';
import { Verifier } from './verifier.ts';

const OFF =
  'the RBAC index is off, in arktos mode for this tenant, since there are more objects than access.maxIndexBytes allows: requests are forwarded as if there were none';
const ON = 'the RBAC index is on again';

const RBAC_INDEX = new ComponentType<IndexComponent>('RBAC index', RUNS);

/** The index of this process. */
export interface BuiltIndex {
  readonly component: Handle<IndexComponent>;
  readonly access: AccessIndex;
  readonly readiness: ReadinessCheck;
}

/**
 * @param startedAt of the process: a reload that turns the index on makes no process unready
 * @returns undefined if the configuration has no index
 */
export function createAccessIndex(
  { parts, scope, runtime, upstream }: FeatureBuild<IndexReadParts>,
  startedAt: number,
): BuiltIndex | undefined {
  if (parts.index === undefined) return undefined;
  const component = createComponentWithInformers(
    scope,
    RBAC_INDEX,
    parts.index,
    upstream,
    ({ inTenants, systemTenant, maxBytes }) =>
      new IndexComponent({ ...runtime, upstream, inTenants, systemTenant, maxBytes }),
  );
  const access = component.tracked;
  const { clock } = runtime;
  return {
    component,
    access,
    readiness: {
      name: 'rbac index',
      notReadyBecause: () =>
        clock.now() - startedAt < READY_TIMEOUT && access.state('') === 'notSynced'
          ? access.incompleteReason('', 'all')
          : undefined,
    },
  };
}

/** What the features that answer from the index share. */
export interface IndexParts {
  readonly component: Handle<IndexComponent>;
  readonly access: AccessIndex;
  /** Tells open watches of changes; lives as long as the index. */
  readonly changes: Handle<AccessChanges>;
  readonly verifier: Pick<Verifier, 'sample' | 'sampleNamespaces'>;
  readonly lifetimes: WatchLifetimes;
}

const CHANGES = new ComponentType<AccessChanges>('changes of access');
const VERIFIER = new ComponentType<Verifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** One for each generation: call it once. */
export function createIndexParts(
  { parts, scope, runtime }: FeatureBuild<IndexReadParts>,
  { mode, reviewer }: ProxyParts,
  { component, access }: BuiltIndex,
): IndexParts {
  const { index } = access;
  const inTenants = mode.facts.hasTenantsInPaths;
  return {
    component,
    access,
    changes: scope.derived(
      CHANGES,
      [component],
      ([{ tracked }]) => new AccessChanges(tracked.index, runtime.clock),
    ),
    verifier: scope.perGeneration(
      VERIFIER,
      [],
      () => new Verifier({ ...runtime, ...parts.verifier, index, reviewer, inTenants }),
    ),
    lifetimes: watchLifetimesOf(scope, runtime),
  };
}

interface IndexOptions extends RuntimeDependencies {
  readonly upstream: InformerUpstream;
  readonly inTenants: boolean;
  readonly systemTenant: string;
  readonly maxBytes: number;
}

class IndexComponent {
  readonly tracked: AccessIndex;
  readonly informers: Informers;
  readonly #runtime: RuntimeDependencies;
  #timer: Timer | undefined;

  constructor({ upstream, inTenants, systemTenant, maxBytes, ...runtime }: IndexOptions) {
    this.#runtime = runtime;
    const index = new RBACIndex({ systemTenant, maxBytes });
    const informers = createRBACInformers({ ...runtime, index, inTenants, upstream });
    this.informers = informers;
    const provenAt = (resource: string) => informers.provenAt(resource);
    this.tracked = new AccessIndex({ index, provenAt, clock: runtime.clock });
  }

  start(): void {
    const { logger, telemetry } = this.#runtime;
    telemetry.indexInForce(() => this.#measures());
    this.#notifySynced();
    this.tracked.index.subscribe({
      reset: (tenant) => {
        if (this.tracked.index.isOff(tenant)) logger.warn({ tenant }, OFF);
        else logger.info({ tenant }, ON);
      },
    });
    this.informers.start();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.tracked.stop();
    this.#runtime.telemetry.indexInForce(undefined);
    await this.informers.stop();
  }

  #notifySynced(): void {
    const { index } = this.tracked;
    const { clock, logger } = this.#runtime;
    const startedAt = clock.now();
    this.#timer = clock.after(READY_TIMEOUT, () =>
      logger.warn(
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
        const seconds = (clock.now() - startedAt) / 1000;
        logger.info({ revision, seconds, ...objects }, 'the RBAC index is complete');
      },
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
      resources: INDEXED_RESOURCES.map((resource) => ({ resource, objects: index.countOf(resource) })),
    };
  }
}
