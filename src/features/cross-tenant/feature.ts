/**
 * Cross-tenant policies and administrations as components. What is known of the API server and the policies
 * in force outlive reloads; how policies follow from it is built anew with the configuration.
 */

import { ComponentType, RUNS } from '../../config/component.ts';
import type { LoadedConfiguration } from '../../config/load.ts';
import type { Policies } from '../../proxy/tenant-entry.ts';
import type { FeatureBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { abacPoliciesOf } from './abac-file.ts';
import { administrationSettings } from './administrations-configuration.ts';
import { type EnabledPolicies, enabledPolicies, hasPolicies } from './enabled-policies.ts';
import { createPoliciesInForce, createPolicySet, type PoliciesInForce } from './policy-set.ts';
import { PolicySources } from './policy-sources.ts';
import { PolicyUpdates } from './policy-updates.ts';
import { createPolicyResolver } from './resolve.ts';

export { createPolicyProblem } from './cross-tenant-policies.ts';
export { createMembershipLog, type MembershipLog } from './membership-log.ts';
export { hasPolicyWebhook, missingDefinitions } from './policy-checks.ts';
export { createPolicyController } from './policy-controller.ts';

const POLICIES_IN_FORCE = new ComponentType<PoliciesInForce>('policies in force', {
  stop: (policies) => policies.replace(createPolicySet([])),
});

const POLICY_SOURCES = new ComponentType<PolicySources>('policy sources', INFORMS);

const POLICY_UPDATES = new ComponentType<PolicyUpdates>('policy updates', RUNS);

/** The policies in force and their updates, which the proxy and the controller share. */
export interface ConfiguredPolicies {
  /** The policies in force, as the proxy asks them. */
  readonly policies: Policies;
  readonly updates: PolicyUpdates;
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
    create: createPoliciesInForce,
  });
  const abac = abacPoliciesOf(loaded.configuration, (file) => loaded.file(file)).policies;
  const updates = generation.component(POLICY_UPDATES, {
    fingerprint: [abac, authorization, access.grantable, tenancy],
    uses: [sources, inForce],
    create() {
      const resolve = createPolicyResolver(settingsOf(loaded));
      const { administrations } = authorization;
      return new PolicyUpdates({
        ...runtime,
        source: sources,
        resolve: (facts, now) => resolve({ abac, administrations, facts }, now),
        inForce,
      });
    },
  });
  return { policies: inForce, updates };
}

function createSources(build: FeatureBuild, enabled: EnabledPolicies): PolicySources {
  const { loaded, runtime, upstream } = build;
  const { systemTenant } = loaded.configuration.tenancy;
  return createComponentWithInformers(build, POLICY_SOURCES, upstream, {
    fingerprint: [systemTenant, enabled],
    create: () => new PolicySources({ ...runtime, enabled, systemTenant, upstream }),
  });
}

function settingsOf({ configuration }: LoadedConfiguration) {
  return { ...administrationSettings(configuration), grantable: configuration.access.grantable };
}
