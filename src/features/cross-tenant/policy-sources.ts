/**
 * The informers of what policies follow from, and their facts as long as they are current: what could not be
 * proven for three minutes is no fact. Only what the configuration enables is listed.
 */

import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import type { Informer } from '../../kubernetes/informer.ts';
import { ObjectStore, type ObjectStoreBounds, storableObjects } from '../../kubernetes/informer-store.ts';
import { Informers, type InformerUpstream } from '../../kubernetes/informers.ts';
import { KINDS, type Place, type PolicyRule, type ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { collectionPath } from '../../kubernetes/object-format.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { PolicyForm } from '../../proxy/tenant-entry.ts';
import type { EnabledPolicies } from './enabled-policies.ts';
import type { PolicyFacts, TenantFacts, WebhookRegistration } from './policy.ts';
import {
  readClusterRole,
  readCrossTenantPolicy,
  readRegistration,
  readTenant,
  readTenantAdministration,
} from './read-policy-object.ts';
import {
  CROSS_TENANT_POLICIES,
  type CrossTenantPolicy,
  TENANT_ADMINISTRATIONS,
  type TenantAdministration,
} from './tenancy-v1alpha1.ts';

/** Milliseconds after which facts that were not proven again grant nothing. */
const FACTS_EXPIRE = 180_000;

const MEGABYTE = 1024 * 1024;
/** The bounds of one tenant, which takes no room from others. */
const PER_TENANT: ObjectStoreBounds = { objects: 1_000, bytes: 2 * MEGABYTE };
const WHOLE_CLUSTER: ObjectStoreBounds = { objects: 100_000, bytes: 128 * MEGABYTE };

export interface PolicySourcesOptions extends Runtime {
  readonly enabled: EnabledPolicies;
  readonly systemTenant: string;
  readonly upstream: InformerUpstream;
}

interface Source<T> {
  readonly informer: Pick<Informer<never>, 'provenAt'>;
  readonly store: ObjectStore<T>;
}

export class PolicySources {
  readonly informers: Informers;
  readonly #callbacks = new Set<() => void>();
  readonly #options: PolicySourcesOptions;
  readonly #tenants: Source<TenantFacts>;
  readonly #clusterRoles: Source<readonly [string, readonly PolicyRule[]]> | undefined;
  readonly #administrations: Source<TenantAdministration> | undefined;
  readonly #policies: Source<CrossTenantPolicy> | undefined;
  readonly #registrations: Source<WebhookRegistration> | undefined;

  constructor(options: PolicySourcesOptions) {
    const { enabled, systemTenant } = options;
    this.#options = options;
    this.informers = new Informers({ ...options, name: 'policies' });
    const ofSystem = { tenant: systemTenant };
    this.#tenants = this.#add(KINDS.Tenant, {}, readTenant);
    if (enabled.administrations || enabled.tenantAdministrations)
      this.#clusterRoles = this.#add(KINDS.ClusterRole, ofSystem, readClusterRole);
    if (enabled.tenantAdministrations)
      this.#administrations = this.#add(TENANT_ADMINISTRATIONS, ofSystem, readTenantAdministration);
    if (enabled.crossTenantPolicies) {
      const everywhere = { tenant: 'all' };
      this.#policies = this.#add(CROSS_TENANT_POLICIES, everywhere, readCrossTenantPolicy, PER_TENANT);
      this.#registrations = this.#add(VALIDATING_WEBHOOKS, {}, readRegistration);
    }
  }

  /** Called after each change or proof. @returns ends the calls */
  onUpdate(call: () => void): () => void {
    const callback = () => call();
    this.#callbacks.add(callback);
    return () => {
      this.#callbacks.delete(callback);
    };
  }

  /** Empty where nothing is proven, or not lately. */
  facts(): PolicyFacts {
    const [registration = { registered: false } as const] = this.#current(this.#registrations);
    return {
      tenants: this.#current(this.#tenants),
      clusterRoles: new Map(this.#current(this.#clusterRoles)),
      administrations: this.#current(this.#administrations),
      crossTenantPolicies: this.#current(this.#policies),
      webhook: registration,
    };
  }

  /** The forms of policies of which all facts are current, in force or not. */
  currentForms(): ReadonlySet<PolicyForm> {
    const sources = [
      ['abac', []],
      ['administration', [this.#clusterRoles, this.#administrations]],
      ['tenant', [this.#policies, this.#registrations]],
    ] as const;
    // What is not listed is not needed.
    const isCurrent = (source: Source<unknown> | undefined) =>
      source === undefined || this.#isCurrent(source);
    const current = sources.filter(([, needed]) => [this.#tenants, ...needed].every(isCurrent));
    return new Set(current.map(([form]) => form));
  }

  /**
   * When the first of what is current is not so any more unless it is proven again, in milliseconds since the
   * epoch; undefined if nothing is current.
   */
  expiresAt(): number | undefined {
    const { clock } = this.#options;
    const ends = this.informers.all
      .map(({ provenAt = 0 }) => provenAt + FACTS_EXPIRE)
      .filter((end) => clock.now() < end);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  #add<T>(
    kind: ResourceKind,
    place: Place,
    select: (value: unknown) => T | undefined,
    bounds: ObjectStoreBounds = WHOLE_CLUSTER,
  ): Source<T> {
    const { logger } = this.#options;
    const path = collectionPath(kind, place);
    const onLeftOut = (tenant: string) =>
      logger.warn(
        { path, tenant },
        'a tenant has too many objects or too large ones: all of them are ignored',
      );
    const store = new ObjectStore<T>({ bounds, onLeftOut });
    const onUpdate = () => {
      for (const call of [...this.#callbacks]) call();
    };
    return { informer: this.informers.add({ path, read: storableObjects(select), store, onUpdate }), store };
  }

  #isCurrent({ informer: { provenAt = 0 } }: Source<unknown>): boolean {
    return this.#options.clock.now() < provenAt + FACTS_EXPIRE;
  }

  #current<T>(source: Source<T> | undefined): readonly T[] {
    return source !== undefined && this.#isCurrent(source) ? source.store.values() : [];
  }
}
