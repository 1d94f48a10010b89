/**
 * The RBAC index of a process as a component: it outlives reloads that leave the API server and the tenancy
 * mode as they are, and takes up a renewed credential without a new list.
 */

import type { Handle } from '../../config/component.ts';
import type { Informers, InformerUpstream } from '../../kubernetes/informers.ts';
import { INDEXED_RESOURCES } from '../../kubernetes/rbac-v1.ts';
import type { Timer } from '../../lib/clock.ts';
import { READY_TIMEOUT, type ReadinessCheck } from '../../lib/readiness.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { WatchLifetimes } from '../../proxy/response/watch-lifetimes.ts';
import type { AccessChanges } from '../../rbac/access-changes.ts';
import { AccessIndex } from '../../rbac/access-index.ts';
import { RBACIndex } from '../../rbac/rbac-index.ts';
import {
  INDEX_BYTES,
  INDEX_OBJECTS,
  INDEX_OFF,
  INDEX_REVISION,
  INDEX_SYNCED,
  INDEX_TOO_LARGE,
} from './metrics.ts';
import { createRBACInformers } from './rbac-informers.ts';
import type { Verifier } from './verifier.ts';

/** The index of this process. */
export interface BuiltIndex {
  readonly component: Handle<IndexComponent>;
  readonly access: AccessIndex;
  readonly readiness: ReadinessCheck;
}

/** What the features that answer from the index share. */
export interface SharedIndex {
  readonly component: Handle<IndexComponent>;
  readonly access: AccessIndex;
  /** Tells open watches of changes; lives as long as the index. */
  readonly changes: Handle<AccessChanges>;
  readonly verifier: Pick<Verifier, 'sample' | 'sampleNamespaces'>;
  readonly lifetimes: WatchLifetimes;
}

const OFF =
  'the RBAC index is off, in arktos mode for this tenant, since there are more objects than access.maxIndexBytes allows: requests are forwarded as if there were none';
const ON = 'the RBAC index is on again';

interface IndexOptions extends Runtime {
  readonly upstream: InformerUpstream;
  readonly inTenants: boolean;
  readonly systemTenant: string;
  readonly maxBytes: number;
}

export class IndexComponent {
  readonly tracked: AccessIndex;
  readonly informers: Informers;
  readonly #runtime: Runtime;
  #timer: Timer | undefined;
  #unmeasure: readonly (() => void)[] = [];

  constructor({ upstream, inTenants, systemTenant, maxBytes, ...runtime }: IndexOptions) {
    this.#runtime = runtime;
    const index = new RBACIndex({ systemTenant, maxBytes });
    const informers = createRBACInformers({ ...runtime, index, inTenants, upstream });
    this.informers = informers;
    const provenAt = (resource: string) => informers.provenAt(resource);
    this.tracked = new AccessIndex({ index, provenAt, clock: runtime.clock });
  }

  start(): void {
    const { logger } = this.#runtime;
    this.#unmeasure = this.#measure();
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
    for (const end of this.#unmeasure) end();
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

  #measure(): (() => void)[] {
    const { index } = this.tracked;
    const { telemetry } = this.#runtime;
    return [
      telemetry.measure(INDEX_OBJECTS, () =>
        INDEXED_RESOURCES.map((resource) => [{ resource }, index.countOf(resource)]),
      ),
      telemetry.measure(INDEX_BYTES, () => index.size),
      telemetry.measure(INDEX_OFF, () => index.tenantsOff),
      telemetry.measure(INDEX_TOO_LARGE, () => index.tooLarge),
      telemetry.measure(INDEX_REVISION, () => index.revision),
      telemetry.measure(INDEX_SYNCED, () => Number(index.isSynced)),
    ];
  }
}
