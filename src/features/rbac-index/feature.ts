/**
 * The RBAC index of this process as a component: it outlives reloads that leave the API server and the
 * tenancy mode as they are, and takes up a renewed credential without a new list.
 */

import type { Build, RuntimeDependencies } from '../../config/build.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import { isRBACAlone } from '../../kubernetes/authorization-mode.ts';
import type { Informers, InformerUpstream } from '../../kubernetes/informers.ts';
import { INDEXED_RESOURCES } from '../../kubernetes/rbac-v1.ts';
import type { Timer } from '../../lib/clock.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import type { IndexMeasures } from '../../lib/telemetry.ts';
import type { Feature } from '../../proxy/feature.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import type { WatchLifetimes } from '../../proxy/response/watch-lifetimes.ts';
import { AccessChanges } from '../../rbac/access-changes.ts';
import { AccessIndex } from '../../rbac/access-index.ts';
import { RBACIndex } from '../../rbac/rbac-index.ts';
import type { FeatureBuild, ProxyParts } from '../build.ts';
import { createComponentWithInformers } from '../component-with-informers.ts';
import { createTenancyMode } from '../tenancy-mode.ts';
import { watchLifetimesOf } from '../watch-lifetimes.ts';
import { createRBACInformers } from './rbac-informers.ts';
import { Verifier } from './verifier.ts';

const OFF =
  'the RBAC index is off, in arktos mode for this tenant, since there are more objects than access.maxIndexBytes allows: requests are forwarded as if there were none';
const ON = 'the RBAC index is on again';

const RBAC_INDEX = new ComponentType<IndexComponent>('RBAC index', RUNS);

/** @returns undefined if the configuration has no index */
export function createAccessIndex(build: FeatureBuild): AccessIndex | undefined {
  return createIndexComponent(build)?.tracked;
}

/** @param startedAt of the process: a reload that turns the index on makes no process unready */
export function createIndexReadiness(build: FeatureBuild, startedAt: number): ReadinessCheck | undefined {
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

function createIndexComponent(build: FeatureBuild): IndexComponent | undefined {
  const { loaded, runtime, upstream } = build;
  const { access, tenancy } = loaded.configuration;
  const { systemTenant } = tenancy;
  if (!access.index) return undefined;
  const hasTenants = createTenancyMode(loaded.configuration).readsTenantFromPath;
  return createComponentWithInformers(build, RBAC_INDEX, upstream, {
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
}

/** What the features that answer from the index share. */
export interface IndexParts {
  readonly access: AccessIndex;
  /** Tells open watches of changes; lives as long as the index. */
  readonly changes: AccessChanges;
  readonly verifier: Pick<Verifier, 'sample' | 'sampleNamespaces'>;
  readonly lifetimes: WatchLifetimes;
}

const CHANGES = new ComponentType<AccessChanges>('changes of access');
const VERIFIER = new ComponentType<Verifier>('verification of the RBAC index', {
  dispose: (verifier) => verifier.stop(),
});

/** One for each generation: call it once. */
export function createIndexParts(
  build: FeatureBuild,
  { mode, reviewer }: ProxyParts,
  access: AccessIndex,
): IndexParts {
  const { generation, loaded, runtime } = build;
  const { verifyOneIn: oneIn, authorizers } = loaded.configuration.access;
  const { index } = access;
  return {
    access,
    changes: generation.component(CHANGES, {
      fingerprint: fingerprintOfIndex(build),
      create: () => new AccessChanges(index, runtime.clock),
    }),
    verifier: generation.component(VERIFIER, {
      create: () =>
        new Verifier({
          ...runtime,
          index,
          reviewer,
          hasTenants: mode.readsTenantFromPath,
          oneIn,
          isRBACAlone: isRBACAlone(authorizers),
        }),
    }),
    lifetimes: watchLifetimesOf(generation, runtime),
  };
}

/** The feature in place of one that needs the index: requests for its resources get the reason. */
export function withoutIndex(resources: readonly OwnResource[]): Feature {
  const unavailable = "need the RBAC index, which Stonegate's operator turns on with access.index";
  return { ownResources: resources.map((resource) => ({ ...resource, unavailable })) };
}

/**
 * The values that the index is built from. A component that refers to the index uses the same fingerprint.
 */
export function fingerprintOfIndex({ loaded }: Build): readonly unknown[] {
  const { upstream, tenancy, access } = loaded.configuration;
  return [upstream.server, tenancy.mode, tenancy.systemTenant, access.maxIndexBytes];
}

interface IndexOptions extends RuntimeDependencies {
  readonly upstream: InformerUpstream;
  readonly hasTenants: boolean;
  readonly systemTenant: string;
  readonly maxBytes: number;
}

class IndexComponent {
  readonly tracked: AccessIndex;
  readonly informers: Informers;
  readonly #runtime: RuntimeDependencies;
  #timer: Timer | undefined;

  constructor({ upstream, hasTenants, systemTenant, maxBytes, ...runtime }: IndexOptions) {
    this.#runtime = runtime;
    const index = new RBACIndex({ systemTenant, maxBytes });
    const informers = createRBACInformers({ ...runtime, index, hasTenants, upstream });
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
