/**
 * Cross-tenant policies and administrations as components. What is known of the API server and the policies
 * in force outlive reloads; how policies follow from it is built anew with the configuration.
 */

import { ComponentType, type Handle, RUNS } from '../../config/component.ts';
import type { Policies } from '../../proxy/tenant-entry.ts';
import type { FeatureBuild } from '../build.ts';
import { createComponentWithInformers, INFORMS } from '../component-with-informers.ts';
import { abacPoliciesOf } from './abac-file.ts';
import { administrationSettings } from './administrations-configuration.ts';
import type { CrossTenantParts } from './feature.ts';
import { createPoliciesInForce, createPolicySet, type PoliciesInForce } from './policy-set.ts';
import { PolicySources } from './policy-sources.ts';
import { PolicyUpdates } from './policy-updates.ts';
import { createPolicyResolver } from './resolve.ts';

export { createPolicyProblem } from './cross-tenant-policies.ts';
export { createMembershipLog, type MembershipLog } from './membership-log.ts';
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
  readonly updates: Handle<PolicyUpdates>;
}

/** @returns undefined if the configuration enables none */
export function createPolicies(build: FeatureBuild<CrossTenantParts>): ConfiguredPolicies | undefined {
  const { parts, scope, runtime, upstream } = build;
  if (parts.sources === undefined) return undefined;
  const sources = createComponentWithInformers(
    scope,
    POLICY_SOURCES,
    parts.sources,
    upstream,
    ({ enabled, systemTenant }) => new PolicySources({ ...runtime, enabled, systemTenant, upstream }),
  );
  const inForce = scope.derived(POLICIES_IN_FORCE, [], createPoliciesInForce);
  const uses = [sources, inForce] as const;
  const updates = scope.component(POLICY_UPDATES, parts.policies, uses, (part, [source, inForce]) => {
    const { abacFile, access, authorization } = part;
    const { grantable } = access;
    const resolve = createPolicyResolver({ ...administrationSettings(part), grantable });
    const { administrations } = authorization;
    const content = () => (abacFile === undefined ? undefined : Buffer.from(abacFile, 'latin1'));
    const abac = abacPoliciesOf(part, content).policies;
    return new PolicyUpdates({
      ...runtime,
      source,
      resolve: (facts, now) => resolve({ abac, administrations, facts }, now),
      inForce,
    });
  });
  return { policies: inForce, updates };
}
