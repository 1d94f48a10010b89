/**
 * Provisioning in a serving process: in turns, or when somebody comes. A reload ends what is under way before its next
 * change, and the next loop begins when the last has ended, so that no two ever run at once; a loop that would be made of
 * the same goes on.
 */

import { USERS_WARNING } from '../bindings/grants.ts';
import { createRequestProvisioning, type RequestProvisioning } from '../bindings/on-request.ts';
import { createPeriodicProvisioning, LEASE_TTL, type PeriodicProvisioning } from '../bindings/periodic.ts';
import type { KeystoneDirectory, Lease } from '../bindings/ports.ts';
import { createRedisLease } from '../cache/redis-lease.ts';
import type { LeaseStore } from '../cache/shared-store.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { createKept, type TwoStep } from '../lib/kept.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Adapters } from './adapters.ts';
import { fingerprintOf, type Surroundings } from './made-of.ts';
import {
  accountOf,
  createProvisioning,
  provisioningMadeOf,
  provisioningUpstream,
} from './provisioning-parts.ts';
import { tenancyModeOf } from './tenancy-mode-of.ts';

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

interface Wanted {
  readonly loop: Loop | undefined;
  readonly bindsUsers: boolean;
}

export class ServedProvisioning implements TwoStep {
  readonly #around: Surroundings;
  readonly #adapters: Adapters;
  readonly #upstream = createKept<Upstream>((upstream) => upstream.destroy());
  readonly #asked = createKept<RequestProvisioning>((asked) => asked.close());
  #loop: Loop | undefined;
  #prepared: Wanted = { loop: undefined, bindsUsers: false };
  /** When the loop in force has been begun, and the ones before have ended. */
  #changed: Promise<void> = Promise.resolve();

  constructor(around: Surroundings, adapters: Adapters) {
    this.#around = around;
    this.#adapters = adapters;
  }

  /**
   * What the next commit brings into force: a loop is begun, goes on or ends.
   *
   * @returns for the pipeline of that configuration; undefined where nothing is made when people come
   */
  prepare(loaded: LoadedConfiguration): RequestProvisioning | undefined {
    const { provision, subjects } = loaded.configuration.bindings;
    const loop = provision === 'periodic' ? this.#loopOf(loaded, this.#loop) : undefined;
    this.#prepared = { loop, bindsUsers: provision !== 'none' && subjects === 'users' };
    if (provision !== 'onRequest') return undefined;
    return this.#asked.take(Symbol('each configuration has its own'), () => this.#onRequest(loaded));
  }

  #onRequest(loaded: LoadedConfiguration): RequestProvisioning {
    const { bindings } = loaded.configuration;
    const parts = this.#parts(loaded);
    return createRequestProvisioning({
      ...this.#around,
      provisioningFor(claim) {
        const account = accountOf(parts.mode, claim.domain);
        const provisioning = createProvisioning(loaded, { ...parts, account });
        return {
          plan: (signal) => provisioning.planFor(claim, signal),
          apply: (plan, options) => provisioning.apply(plan, { ...options, maxDeletedShare: OF_ONE_PROJECT }),
        };
      },
      subjects: bindings.subjects,
      interval: bindings.interval,
    });
  }

  commit(): void {
    this.#upstream.commit();
    this.#asked.commit();
    const former = this.#loop;
    const { loop, bindsUsers } = this.#prepared;
    if (bindsUsers) this.#around.logger.warn({}, USERS_WARNING);
    if (loop === former) return;
    this.#loop = loop;
    this.#change(async () => {
      await former?.periodic.stop();
      loop?.periodic.start();
    });
  }

  /** A loop that was never begun needs no end. */
  async rollback(): Promise<void> {
    await Promise.all([this.#asked.rollback(), this.#upstream.rollback()]);
  }

  /** @returns ends what was replaced until now, to be called when no request needs it any more */
  former(): () => Promise<void> {
    const endAsked = this.#asked.former();
    const endUpstream = this.#upstream.former();
    return async () => {
      await endAsked();
      await this.#changed;
      await endUpstream();
    };
  }

  async close(): Promise<void> {
    const last = this.#loop;
    this.#loop = undefined;
    this.#change(async () => last?.periodic.stop());
    await Promise.all([this.#changed, this.#asked.end()]);
    await this.#upstream.end();
  }

  #change(work: () => Promise<void>): void {
    this.#changed = this.#changed.then(work).catch((error: unknown) => {
      this.#around.logger.error({ error }, 'provisioning could not be changed');
    });
  }

  #loopOf(loaded: LoadedConfiguration, former: Loop | undefined): Loop {
    const { madeOf, ...parts } = this.#parts(loaded);
    const { directory } = parts;
    const leases = this.#adapters.leases(loaded);
    const isSame = former?.madeOf === madeOf && former.directory === directory && former.leases === leases;
    if (isSame) return former;
    const periodic = createPeriodicProvisioning({
      ...this.#around,
      provisioning: createProvisioning(loaded, parts),
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
      fetcher,
      mode,
      madeOf: fingerprintOf(connection, bindings, tenancy, authentication),
    };
  }
}
