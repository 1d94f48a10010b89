/**
 * Provisioning in a serving process: in turns, or when somebody comes. A reload ends what is under way before its next
 * change, and the next loop begins when the last has ended, so that no two ever run at once; a loop that would be made of
 * the same goes on.
 */
import type { Adapters } from './adapters.ts';
import { USERS_WARNING } from './bindings/grants.ts';
import type { KeystoneDirectory } from './bindings/keystone-directory.ts';
import type { Lease } from './bindings/lease.ts';
import { createRequestProvisioning, type RequestProvisioning } from './bindings/on-request.ts';
import { createPeriodicProvisioning, LEASE_TTL, type PeriodicProvisioning } from './bindings/periodic.ts';
import { createRedisLease } from './cache/redis-lease.ts';
import type { LeaseStore } from './cache/shared-store.ts';
import type { LoadedConfiguration } from './config/load.ts';
import { createKept } from './lib/kept.ts';
import { fingerprintOf, type Surroundings } from './made-of.ts';
import { createProvisioning, provisioningMadeOf, provisioningUpstream } from './provisioning-parts.ts';
import { tenancyModeOf } from './tenancy-mode-of.ts';
import type { Upstream } from './upstream/upstream.ts';

/** One process has nobody to agree with. */
const ALONE: Lease = { hold: async () => true, release: async () => {} };

/**
 * Among the few bindings of one project, one person's are soon a large share. Somebody of it is just coming, though: only
 * that nothing at all should be left is not to be believed.
 */
const OF_ONE_PROJECT = 1;

interface Loop {
  readonly madeOf: string;
  readonly directory: KeystoneDirectory;
  readonly leases: LeaseStore | undefined;
  readonly periodic: PeriodicProvisioning;
}

export class ServedProvisioning {
  readonly #around: Surroundings;
  readonly #adapters: Adapters;
  readonly #upstream = createKept<Upstream>((upstream) => upstream.destroy());
  /** Those that some request may still ask. */
  readonly #asked = new Set<RequestProvisioning>();
  #loop: Loop | undefined;
  /** When the loop in force has been begun, and the ones before have ended. */
  #changed: Promise<void> = Promise.resolve();

  constructor(around: Surroundings, adapters: Adapters) {
    this.#around = around;
    this.#adapters = adapters;
  }

  /** @returns for the pipeline of that configuration; undefined where nothing is made when people come */
  onRequest(loaded: LoadedConfiguration): RequestProvisioning | undefined {
    const { bindings } = loaded.configuration;
    if (bindings.provision !== 'onRequest') return undefined;
    const { provisioning } = this.#parts(loaded);
    const built = createRequestProvisioning({
      ...this.#around,
      provisioningFor: (claim) => ({
        plan: (signal) => provisioning.planFor(claim, signal),
        apply: (plan, options) => provisioning.apply(plan, { ...options, maxDeletedShare: OF_ONE_PROJECT }),
      }),
      subjects: bindings.subjects,
      interval: bindings.interval,
    });
    this.#asked.add(built);
    return built;
  }

  /** Begins the loop of that configuration, goes on with the one there is, or ends it. */
  apply(loaded: LoadedConfiguration): void {
    const { provision, subjects } = loaded.configuration.bindings;
    if (provision === 'none') this.#upstream.retire();
    else if (subjects === 'users') this.#around.logger.warn({}, USERS_WARNING);
    const former = this.#loop;
    const next = provision === 'periodic' ? this.#loopOf(loaded, former) : undefined;
    if (next === former) return;
    this.#loop = next;
    this.#change(async () => {
      await former?.periodic.stop();
      next?.periodic.start();
    });
  }

  /** @returns ends what was replaced until now, to be called when no request needs it any more */
  former(current: RequestProvisioning | undefined): () => Promise<void> {
    const asked = [...this.#asked].filter((each) => each !== current);
    const end = this.#upstream.former();
    return async () => {
      await Promise.all(asked.map((each) => this.#asked.delete(each) && each.close()));
      await this.#changed;
      await end();
    };
  }

  async close(): Promise<void> {
    const last = this.#loop;
    this.#loop = undefined;
    this.#change(async () => last?.periodic.stop());
    await Promise.all([this.#changed, ...[...this.#asked].map((each) => each.close())]);
    await this.#upstream.end();
  }

  #change(work: () => Promise<void>): void {
    this.#changed = this.#changed.then(work).catch((error: unknown) => {
      this.#around.logger.error({ error }, 'provisioning could not be changed');
    });
  }

  #loopOf(loaded: LoadedConfiguration, former: Loop | undefined): Loop {
    const { directory, provisioning, madeOf } = this.#parts(loaded);
    const leases = this.#adapters.leases(loaded);
    const isSame = former?.madeOf === madeOf && former.directory === directory && former.leases === leases;
    if (isSame) return former;
    const periodic = createPeriodicProvisioning({
      ...this.#around,
      provisioning,
      lease: leases === undefined ? ALONE : this.#lease(loaded, leases),
      interval: loaded.configuration.bindings.interval,
    });
    return { madeOf, directory, leases, periodic };
  }

  #lease({ configuration: { cache } }: LoadedConfiguration, store: LeaseStore): Lease {
    const name = `${cache.redis?.keyPrefix ?? ''}lease:provisioning`;
    return createRedisLease({ ...this.#around, store, name, ttl: LEASE_TTL });
  }

  #parts(loaded: LoadedConfiguration) {
    const { authentication, bindings, tenancy } = loaded.configuration;
    const connection = provisioningMadeOf(loaded);
    const directory =
      authentication.keystone && this.#adapters.keystone(loaded, authentication.keystone).client.directory;
    const fetcher = this.#upstream.take(connection, () => {
      const upstream = provisioningUpstream(loaded, this.#around);
      if (upstream !== undefined) return upstream;
      throw new Error('no credential to provision with');
    });
    // Neither would have been loaded.
    if (directory === undefined) throw new Error('no Keystone to provision for');
    const mode = tenancyModeOf(tenancy, authentication);
    return {
      directory,
      provisioning: createProvisioning(loaded, { directory, fetcher, mode }),
      madeOf: fingerprintOf(connection, bindings, tenancy, authentication),
    };
  }
}
