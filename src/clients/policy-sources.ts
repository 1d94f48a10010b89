/**
 * The lists and watches from which policies follow, and their facts as long as they are current: what could
 * not be proven for three minutes is no fact. Only what the configuration enables is listed.
 */
import type { EnabledPolicies } from '../api/config-access-v1alpha1.ts';
import type { PolicyRule } from '../api/kubernetes-object.ts';
import {
  type CrossTenantPolicy,
  TENANCY_API_VERSION,
  TENANCY_GROUP,
  type TenantAdministration,
} from '../api/tenancy-v1alpha1.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { PolicyResource, Telemetry } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import type { PolicyForm } from '../policy/policy.ts';
import type { PolicyFacts, PolicyFactsSource, TenantFacts, WebhookRegistration } from '../policy/ports.ts';
import type { ObjectSetBounds } from './object-set.ts';
import {
  readClusterRole,
  readCrossTenantPolicy,
  readRegistration,
  readTenant,
  readTenantAdministration,
} from './read-policy-object.ts';
import { Reflector } from './reflector.ts';

/** Milliseconds after which facts that were not proven again grant nothing. */
const FACTS_EXPIRE = 180_000;

const MEGABYTE = 1024 * 1024;
/** Of one tenant: it takes no room from others. */
const PER_TENANT: ObjectSetBounds = { objects: 1_000, bytes: 2 * MEGABYTE };
const WHOLE_CLUSTER: ObjectSetBounds = { objects: 100_000, bytes: 128 * MEGABYTE };

export interface PolicySourcesOptions {
  readonly enabled: EnabledPolicies;
  readonly systemTenant: string;
  /** Called for each request: a renewed credential has another one. */
  readonly upstream: () => UpstreamFetcher & UpstreamStreamer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export class PolicySources implements PolicyFactsSource {
  readonly #callbacks = new Set<() => void>();
  readonly #clock: Clock;
  readonly #tenants: Reflector<TenantFacts>;
  readonly #clusterRoles: Reflector<readonly [string, readonly PolicyRule[]]> | undefined;
  readonly #administrations: Reflector<TenantAdministration> | undefined;
  readonly #policies: Reflector<CrossTenantPolicy> | undefined;
  readonly #registrations: Reflector<WebhookRegistration> | undefined;
  readonly #all: readonly Reflector<unknown>[];
  /** Milliseconds since the epoch. */
  #startedAt: number | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor({ enabled, systemTenant, telemetry, ...options }: PolicySourcesOptions) {
    const ofSystem = `tenants/${systemTenant}`;
    const reflect = <T>(
      apiGroup: string,
      resource: PolicyResource,
      prefix: string,
      read: (value: unknown) => T | undefined,
      bounds = WHOLE_CLUSTER,
    ) =>
      new Reflector({
        ...options,
        apiGroup,
        resource,
        path: `${prefix}/${resource}`,
        follower: 'the set of policies',
        read,
        bounds,
        onUpdate: () => {
          for (const call of [...this.#callbacks]) call();
        },
        onFailure: (failure) => telemetry.policySourceFailed(resource, failure),
      });
    const tenancy = `/apis/${TENANCY_API_VERSION}`;
    this.#clock = options.clock;
    this.#tenants = reflect('', 'tenants', '/api/v1', readTenant);
    if (enabled.administrations || enabled.tenantAdministrations)
      this.#clusterRoles = reflect(RBAC, 'clusterroles', `/apis/${RBAC}/v1/${ofSystem}`, readClusterRole);
    if (enabled.tenantAdministrations)
      this.#administrations = reflect(
        TENANCY_GROUP,
        'tenantadministrations',
        `${tenancy}/${ofSystem}`,
        readTenantAdministration,
      );
    if (enabled.crossTenantPolicies) {
      const path = `${tenancy}/tenants/all`;
      const resource = 'crosstenantpolicies';
      this.#policies = reflect(TENANCY_GROUP, resource, path, readCrossTenantPolicy, PER_TENANT);
      this.#registrations = reflect(
        ADMISSION,
        'validatingwebhookconfigurations',
        `/apis/${ADMISSION}/v1`,
        readRegistration,
      );
    }
    const optional = [this.#clusterRoles, this.#administrations, this.#policies, this.#registrations];
    this.#all = [this.#tenants, ...optional.filter((source) => source !== undefined)];
  }

  start(): void {
    this.#startedAt = this.#clock.now();
    this.#running = Promise.all(this.#all.map((source) => source.run()));
  }

  /** Lists and watches with the present upstream. */
  reconnect(): void {
    for (const source of this.#all) source.reconnect();
  }

  /** Resolves when all requests have ended. */
  async stop(): Promise<void> {
    for (const source of this.#all) source.stop();
    await this.#running;
  }

  onUpdate(call: () => void): () => void {
    const callback = () => call();
    this.#callbacks.add(callback);
    return () => {
      this.#callbacks.delete(callback);
    };
  }

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

  currentForms(): ReadonlySet<PolicyForm> {
    const sources = [
      ['abac', []],
      ['administration', [this.#clusterRoles, this.#administrations]],
      ['tenant', [this.#policies, this.#registrations]],
    ] as const;
    // What is not listed is not needed.
    const isCurrent = (source: Reflector<unknown> | undefined) =>
      source === undefined || this.#isCurrent(source);
    const current = sources.filter(([, needed]) => [this.#tenants, ...needed].every(isCurrent));
    return new Set(current.map(([form]) => form));
  }

  /**
   * Milliseconds since the oldest proof, or since the start if a resource has not been listed yet; undefined
   * before the start.
   */
  age(): number | undefined {
    const startedAt = this.#startedAt;
    if (startedAt === undefined) return undefined;
    return this.#clock.now() - Math.min(...this.#all.map(({ provenAt = startedAt }) => provenAt));
  }

  expiresAt(): number | undefined {
    const ends = this.#all
      .filter((source) => this.#isCurrent(source))
      .map(({ provenAt = 0 }) => provenAt + FACTS_EXPIRE);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  #isCurrent({ provenAt }: Reflector<unknown>): boolean {
    return provenAt !== undefined && this.#clock.now() < provenAt + FACTS_EXPIRE;
  }

  #current<T>(source: Reflector<T> | undefined): readonly T[] {
    return source !== undefined && this.#isCurrent(source) ? source.objects : [];
  }
}

const RBAC = 'rbac.authorization.k8s.io';
const ADMISSION = 'admissionregistration.k8s.io';
