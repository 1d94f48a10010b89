/**
 * Cross-tenant policies and administrations as components. What is known of the API server and the policies
 * in force outlive reloads; how policies follow from it is built anew with the configuration.
 */
import type { EnabledPolicies } from '../api/config-access-v1alpha1.ts';
import { PolicySources } from '../clients/policy-sources.ts';
import { abacPoliciesOf } from '../config/abac-file.ts';
import { enabledPolicies, hasPolicies } from '../config/enabled-policies.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import type { PolicyMeasures } from '../lib/telemetry.ts';
import type { UpstreamFetcher, UpstreamStreamer } from '../pipeline/ports.ts';
import { createPoliciesInForce, type PoliciesInForce } from '../policy/policies-in-force.ts';
import { createPolicySet } from '../policy/policy-set.ts';
import { PolicyUpdates } from '../policy/policy-updates.ts';
import type { Policies } from '../policy/ports.ts';
import { createPolicyResolver } from '../policy/resolve.ts';
import type { Build, RuntimeDependencies } from './build.ts';
import { ComponentType } from './component.ts';
import { tenancyFacts } from './provisioning.ts';
import { createTenancyMode } from './tenancy-mode.ts';
import { createOwnUpstream } from './upstream.ts';

type SourcesUpstream = UpstreamFetcher & UpstreamStreamer;

const POLICIES_IN_FORCE = new ComponentType<PoliciesInForce>('policies in force', {
  stop: (policies) => policies.replace(createPolicySet([])),
});

const POLICY_SOURCES = new ComponentType<SourcesComponent>('policy sources', {
  start: ({ sources }) => sources.start(),
  stop: ({ sources }) => sources.stop(),
});

/** Connects the sources with the upstream of a generation, once that is in force. */
const POLICY_SOURCES_UPSTREAM = new ComponentType<{ connect(): void }>('upstream of the policy sources', {
  start: (connection) => connection.connect(),
});

const POLICY_UPDATES = new ComponentType<UpdatesComponent>('policy updates', {
  start: (component) => component.start(),
  stop: (component) => component.stop(),
});

/** What serves and what provisions share. */
export interface ConfiguredPolicies {
  /** For the pipeline. */
  readonly policies: Policies;
  readonly updates: PolicyUpdates;
  /** The component that `updates` belongs to. */
  readonly component: object;
}

/** @returns undefined if the configuration enables none */
export function createPolicies(build: Build): ConfiguredPolicies | undefined {
  const { generation, loaded, runtime } = build;
  const { access, authorization, tenancy } = loaded.configuration;
  const enabled = enabledPolicies(loaded.configuration);
  if (!hasPolicies(enabled)) return undefined;
  const sources = createSources(build, enabled);
  const inForce = generation.component(POLICIES_IN_FORCE, {
    fingerprint: [],
    create: () => createPoliciesInForce(createPolicySet([])),
  });
  const abac = abacPoliciesOf(loaded.configuration, (file) => loaded.file(file)).policies;
  const component = generation.component(POLICY_UPDATES, {
    fingerprint: [abac, authorization, access.grantable, tenancy],
    uses: [sources, inForce],
    create() {
      const resolve = createPolicyResolver(settingsOf(loaded));
      const { administrations } = authorization;
      return new UpdatesComponent(runtime, sources.sources, {
        ...runtime,
        source: sources.sources,
        resolve: (facts, now) => resolve({ abac, administrations, facts }, now),
        inForce,
      });
    },
  });
  return { policies: inForce, updates: component.updates, component };
}

function createSources(build: Build, enabled: EnabledPolicies): SourcesComponent {
  const { generation, loaded, runtime } = build;
  const { systemTenant } = loaded.configuration.tenancy;
  const upstream = createOwnUpstream(build);
  const sources = generation.component(POLICY_SOURCES, {
    fingerprint: [loaded.configuration.upstream.server, systemTenant, enabled],
    create: () => new SourcesComponent({ ...runtime, enabled, systemTenant }, upstream),
  });
  generation.component(POLICY_SOURCES_UPSTREAM, {
    fingerprint: [],
    uses: [upstream, sources],
    create: () => ({ connect: () => sources.connect(upstream) }),
  });
  return sources;
}

function settingsOf({ configuration }: LoadedConfiguration) {
  const { access, authorization, tenancy } = configuration;
  const { tenantOf } = tenancyFacts(createTenancyMode(configuration));
  return {
    ...authorization,
    systemTenant: tenancy.systemTenant,
    grantable: access.grantable,
    tenantOfDomain(name: string) {
      const found = tenantOf({ id: '', name });
      return 'tenant' in found ? found.tenant : undefined;
    },
  };
}

class SourcesComponent {
  readonly sources: PolicySources;
  #upstream: SourcesUpstream;

  constructor(
    options: Omit<ConstructorParameters<typeof PolicySources>[0], 'upstream'>,
    upstream: SourcesUpstream,
  ) {
    this.#upstream = upstream;
    this.sources = new PolicySources({ ...options, upstream: () => this.#upstream });
  }

  /** @param upstream as before, or with a renewed credential */
  connect(upstream: SourcesUpstream): void {
    if (upstream === this.#upstream) return;
    this.#upstream = upstream;
    this.sources.reconnect();
  }
}

class UpdatesComponent {
  readonly updates: PolicyUpdates;
  readonly #runtime: RuntimeDependencies;
  readonly #sources: PolicySources;
  #outOfForce: (() => void) | undefined;

  constructor(
    runtime: RuntimeDependencies,
    sources: PolicySources,
    options: ConstructorParameters<typeof PolicyUpdates>[0],
  ) {
    this.#runtime = runtime;
    this.#sources = sources;
    this.updates = new PolicyUpdates(options);
  }

  start(): void {
    this.#outOfForce = this.#runtime.telemetry.policiesInForce(() => this.#measures());
    this.updates.start();
  }

  stop(): void {
    this.#outOfForce?.();
    this.updates.stop();
  }

  #measures(): PolicyMeasures {
    const { policies = [], statuses = [] } = this.updates.snapshot ?? {};
    const count = (form: string) => policies.filter((policy) => policy.form === form).length;
    const age = this.#sources.age();
    return {
      inForce: { abac: count('abac'), tenant: count('tenant'), administration: count('administration') },
      notReady: statuses.filter(({ ready }) => !ready).length,
      ageSeconds: age === undefined ? undefined : age / 1_000,
    };
  }
}
