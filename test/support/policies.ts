/** Policies, the facts and settings from which they are resolved, and requests of guests. */

import { parse } from 'yaml';
import { parseAbacFile } from '../../src/features/cross-tenant/abac-file.ts';
import type { Policy, PolicyFacts } from '../../src/features/cross-tenant/policy.ts';
import {
  createPolicyResolver,
  type PolicySettings,
  type WrittenPolicies,
} from '../../src/features/cross-tenant/resolve.ts';
import type {
  CrossTenantPolicy,
  CrossTenantRule,
  TenantAdministration,
} from '../../src/features/cross-tenant/tenancy-v1alpha1.ts';
import type { PolicyRule } from '../../src/kubernetes/kubernetes-object.ts';
import type { Entry, PolicyAttributes } from '../../src/proxy/tenant-entry.ts';
import { grantableRules } from '../../src/rbac/grantable-rules.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import type { JsonObject } from './apiserver/json.ts';
import { rule } from './policy-rule.ts';

export const NOW = Date.UTC(2026, 6, 1);
export const HOUR = 3_600_000;

/** The webhook that `stonegate manifests admission` registers for CrossTenantPolicies. */
export const POLICY_WEBHOOK: JsonObject = parse(`
  name: policies.admission.stonegate.dev
  failurePolicy: Fail
  rules:
    - apiGroups: [tenancy.stonegate.dev]
      apiVersions: ['*']
      resources: [crosstenantpolicies]
      operations: [CREATE, UPDATE]`);

/** The spec of a line of the ABAC file: alice of acme may read pods of globex. */
export const ALICE_READS_PODS = {
  name: 'alice-pods',
  tenant: 'acme',
  space: 'globex',
  user: 'alice',
  namespace: '*',
  apiGroup: '',
  resource: 'pods',
  readonly: true,
};
type AbacSpec = Readonly<Record<string, unknown>>;

export function abacLine(spec: AbacSpec = ALICE_READS_PODS) {
  return JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
}

export function readAbacFile(text: string, grantable: readonly PolicyRule[] = []) {
  return parseAbacFile(Buffer.from(text), {
    systemTenant: 'system',
    grantable: grantableRules(grantable),
  });
}

/** @throws Error if a line is refused */
export function abacPolicies(...specs: readonly AbacSpec[]): readonly Policy[] {
  const { policies, problems } = readAbacFile(specs.map(abacLine).join('\n'));
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return policies;
}

export const POD_READER: CrossTenantRule = rule('get,list,watch', 'pods,pods/log');

/** A policy of globex, newer than the webhook's registration: members of devs in acme may read pods. */
export function crossTenantPolicy(
  spec: Partial<CrossTenantPolicy['spec']> = {},
  metadata: Partial<CrossTenantPolicy['metadata']> = {},
): CrossTenantPolicy {
  return {
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'CrossTenantPolicy',
    metadata: { name: 'devs', tenant: 'globex', creationTimestamp: '2026-06-01T00:00:00Z', ...metadata },
    spec: {
      subjects: [{ kind: 'Group', tenant: 'acme', name: 'devs' }],
      namespaces: ['*'],
      rules: [POD_READER],
      ...spec,
    },
  };
}

/** A TenantAdministration of the system tenant: its group support may edit in globex. */
export function administration(
  spec: Partial<TenantAdministration['spec']> = {},
  name = 'support',
): TenantAdministration {
  return {
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    kind: 'TenantAdministration',
    metadata: { name },
    spec: {
      groups: ['keystone:group:support'],
      tenants: { names: ['globex'] },
      clusterRole: 'stonegate:edit',
      reason: 'support contract',
      ...spec,
    },
  };
}

export function policyFacts(facts: Partial<PolicyFacts> = {}): PolicyFacts {
  return {
    crossTenantPolicies: [],
    administrations: [],
    tenants: ['system', 'acme', 'globex', 'initech'].map((name) => ({ name, labels: {} })),
    clusterRoles: new Map(),
    webhook: { registered: true, since: Date.UTC(2026, 0, 1) },
    ...facts,
  };
}

/** Keystone domains whose tenants have other names. */
const DOMAINS: Readonly<Record<string, string>> = { Default: 'acme', Partner: 'globex' };

const POLICY_SETTINGS: PolicySettings = {
  systemTenant: 'system',
  tenantOfDomain: (domain) => DOMAINS[domain] ?? (/^[a-z]+$/.test(domain) ? domain : undefined),
  grantable: [],
  administrationsMustEnd: false,
};

export function resolvedPolicies(
  written: Partial<WrittenPolicies>,
  settings: Partial<PolicySettings> = {},
  now = NOW,
) {
  const resolve = createPolicyResolver({ ...POLICY_SETTINGS, ...settings });
  return resolve({ abac: [], administrations: [], facts: policyFacts(), ...written }, now);
}

/** A user of acme who enters globex. */
export function entry(
  name: string,
  {
    home = 'acme',
    tenant = 'globex',
    groups = [],
  }: Partial<Record<'home' | 'tenant', string>> & {
    readonly groups?: readonly string[];
  } = {},
): Entry {
  return { home: toTenantName(home), tenant: toTenantName(tenant), name, groups };
}

/** The attributes of `get pods/log` in a namespace. */
export function attributes(
  verb: string,
  full: string,
  { namespace = 'default', apiGroup = '', name = '' } = {},
): PolicyAttributes {
  const [resource = '', subresource = ''] = full.split('/', 2);
  return { isResourceRequest: true, verb, apiGroup, resource, subresource, namespace, name };
}
