/**
 * Cross-tenant policies and administrations as components. What is known of the API server and the policies
 * in force outlive reloads; how policies follow from it is built anew with the configuration.
 */

import type { RuntimeDependencies } from '../../config/build.ts';
import { ComponentType, RUNS } from '../../config/component.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import type { PolicyMeasures } from '../../lib/telemetry.ts';
import type { Policies } from '../../proxy/tenant-entry.ts';
import { tenancyFacts } from '../bindings/feature.ts';
import type { FeatureBuild } from '../build.ts';
import { connectInformers } from '../connect-informers.ts';
import { createTenancyMode } from '../tenancy-mode.ts';
import { abacPoliciesOf } from './abac-file.ts';
import type { EnabledPolicies } from './enabled-policies.ts';
import { enabledPolicies, hasPolicies } from './enabled-policies.ts';
import { createPoliciesInForce, type PoliciesInForce } from './policies-in-force.ts';
import { createPolicySet } from './policy-set.ts';
import { PolicySources } from './policy-sources.ts';
import { PolicyUpdates } from './policy-updates.ts';
import { createPolicyResolver } from './resolve.ts';

export { createPolicyProblem } from './policy-problem.ts';

const POLICIES_IN_FORCE = new ComponentType<PoliciesInForce>('policies in force', {
  stop: (policies) => policies.replace(createPolicySet([])),
});

const POLICY_SOURCES = new ComponentType<PolicySources>('policy sources', {
  start: ({ informers }) => informers.start(),
  stop: ({ informers }) => informers.stop(),
});

const POLICY_UPDATES = new ComponentType<UpdatesComponent>('policy updates', RUNS);

/** What serves and what provisions share. */
export interface ConfiguredPolicies {
  /** The policies in force, as the pipeline asks them. */
  readonly policies: Policies;
  readonly updates: PolicyUpdates;
  /** The component that `updates` belongs to. */
  readonly component: object;
}

/** @returns undefined if the configuration enables none */
export function createPolicies(build: FeatureBuild): ConfiguredPolicies | undefined {
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
      return new UpdatesComponent(runtime, {
        ...runtime,
        source: sources,
        resolve: (facts, now) => resolve({ abac, administrations, facts }, now),
        inForce,
      });
    },
  });
  return { policies: inForce, updates: component.updates, component };
}

function createSources(build: FeatureBuild, enabled: EnabledPolicies): PolicySources {
  const { generation, loaded, runtime, upstream } = build;
  const { systemTenant } = loaded.configuration.tenancy;
  const sources = generation.component(POLICY_SOURCES, {
    fingerprint: [loaded.configuration.upstream.server, systemTenant, enabled],
    create: () => new PolicySources({ ...runtime, enabled, systemTenant, upstream }),
  });
  connectInformers(generation, sources, upstream);
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

class UpdatesComponent {
  readonly updates: PolicyUpdates;
  readonly #runtime: RuntimeDependencies;
  #outOfForce: (() => void) | undefined;

  constructor(runtime: RuntimeDependencies, options: ConstructorParameters<typeof PolicyUpdates>[0]) {
    this.#runtime = runtime;
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
    return {
      inForce: { abac: count('abac'), tenant: count('tenant'), administration: count('administration') },
      notReady: statuses.filter(({ ready }) => !ready).length,
    };
  }
}
