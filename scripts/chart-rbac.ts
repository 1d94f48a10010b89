/**
 * The rules of `stonegate manifests rbac` for every combination of what they depend on, for the chart's
 * templates, which cannot run Stonegate. Names that come from a configuration are placeholders.
 */
import { parseAllDocuments, stringify } from 'yaml';
import { BASIC_USER_ROLE, CLUSTER_ROLES } from '../src/api/cluster-roles.ts';
import type { EnabledPolicies } from '../src/api/config-access-v1alpha1.ts';
import { ESCALATING_VERBS, NEVER_GROUPS } from '../src/api/grantable-rules.ts';
import type { PolicyRule } from '../src/api/kubernetes-object.ts';
import { TENANT_KINDS, UNPUBLISHED_GROUPS, UNPUBLISHED_RESOURCES } from '../src/api/published-objects.ts';
import { CREDENTIAL_ID_KEY } from '../src/api/reserved-names.ts';
import { manifests } from '../src/cli/manifests.ts';
import { PUBLISHED_VERBS, type PublishingNeeds, publishingRules } from '../src/cli/publishing-rules.ts';
import { resourcesOfPolicies } from '../src/config/enabled-policies.ts';
import { parseConfiguration } from '../src/config/parse.ts';

export const CHART_RBAC = 'config/charts/stonegate/files/rbac.json';

/** What the templates replace. */
const EXTRA_KEY = 'example.com/placeholder';
const ROLE = 'placeholder';

const MODES = ['arktos', 'shared'] as const;
const KEYSTONE = { keystone: { url: 'https://keystone.example.com/v3' } };
const OTHER = { tokenFile: { file: 'tokens.csv' } };

/** The text of the chart's file: rules by what they depend on, and the names that templates compare. */
export async function chartRBAC(): Promise<string> {
  const policies = POLICY_SETTINGS.map((setting) => [setting, policyRules(setting)] as const);
  const publishing = MODES.map((mode) => [mode, publishingRules(mode, NO_KINDS)] as const);
  // In shared mode the provisioner may bind the roles that it creates because it has their rules.
  const held = [...CLUSTER_ROLES.keys()].filter((name) => name !== BASIC_USER_ROLE);
  return `{
  "extraKeysOfJWT": ${JSON.stringify([CREDENTIAL_ID_KEY])},
  "heldClusterRoles": ${JSON.stringify(held)},
  "defaultRoles": ${JSON.stringify(defaultRoles())},
${section('impersonator', await impersonatorCombinations())},
${section('policies', policies)},
${section('provisioner', await provisionerCombinations())},
  "policyProvisioning": ${JSON.stringify(await policyProvisioningRules())},
${section('publishing', publishing)},
  "publishedKinds": ${JSON.stringify(publishedKindRules())},
  "tenantKinds": ${JSON.stringify(Object.fromEntries(TENANT_KINDS.map(({ resource, group }) => [resource, group])))},
  "publishedVerbs": ${JSON.stringify(PUBLISHED_VERBS)},
  "notPublished": ${JSON.stringify({ groups: [...UNPUBLISHED_GROUPS], resources: [...UNPUBLISHED_RESOURCES] })},
  "notGrantable": ${JSON.stringify({ groups: [...NEVER_GROUPS], verbs: [...ESCALATING_VERBS] })}
}
`;
}

function section(name: string, entries: readonly (readonly [string, unknown])[]): string {
  const lines = entries.map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `  ${JSON.stringify(name)}: {\n${lines.join(',\n')}\n  }`;
}

async function impersonatorCombinations(): Promise<[string, unknown][]> {
  const entries: [string, unknown][] = [];
  for (const mode of MODES) {
    const conditions = ['keystone', 'tokenReview', 'index', ...(mode === 'shared' ? ['constrained'] : [])];
    for (const set of subsets(conditions))
      entries.push([[mode, ...set].join(' '), await impersonatorRules(mode, new Set(set))]);
  }
  return entries;
}

async function provisionerCombinations(): Promise<[string, unknown][]> {
  const entries: [string, unknown][] = [];
  for (const mode of MODES)
    for (const createRoles of [true, false])
      entries.push([createRoles ? `${mode} createRoles` : mode, await provisionerRules(mode, createRoles)]);
  return entries;
}

function impersonatorRules(mode: string, conditions: ReadonlySet<string>): Promise<unknown> {
  return rulesOf(
    {
      tenancy: { mode },
      authentication: {
        ...(conditions.has('keystone') ? KEYSTONE : OTHER),
        ...(conditions.has('tokenReview') ? { tokenReview: { tenant: 'acme' } } : {}),
        impersonationExtraKeys: [EXTRA_KEY],
      },
      access: { index: conditions.has('index') },
    },
    conditions.has('constrained') ? ['--constrained'] : [],
  );
}

function provisionerRules(mode: string, createRoles: boolean): Promise<unknown> {
  const roles = { one: { clusterRole: ROLE }, other: { role: ROLE } };
  return rulesOf({ tenancy: { mode }, authentication: KEYSTONE, bindings: { createRoles, roles } }, [
    '--provisioner',
  ]);
}

const POLICY_SETTINGS = [
  'abac',
  'administrations',
  'tenantAdministrations',
  'crossTenantPolicies',
] satisfies (keyof EnabledPolicies)[];
const NO_POLICIES: EnabledPolicies = {
  abac: false,
  administrations: false,
  tenantAdministrations: false,
  crossTenantPolicies: false,
};

/** What Stonegate's own credential needs for the policies of one setting of `authorization`. */
function policyRules(setting: keyof EnabledPolicies): PolicyRule[] {
  return resourcesOfPolicies({ ...NO_POLICIES, [setting]: true }).map(({ group, resource }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: ['list', 'watch'],
  }));
}

/** What the provisioner needs for policies of any form, in addition. */
async function policyProvisioningRules(): Promise<PolicyRule[]> {
  const configuration = {
    tenancy: { mode: 'arktos' },
    authentication: KEYSTONE,
    bindings: { createRoles: false, credential: { tokenFile: 'provisioner-token' } },
  };
  const policies = { ...configuration, authorization: { crossTenantPolicies: true } };
  return rulesBeyond(
    await rulesOf(configuration, ['--provisioner']),
    await rulesOf(policies, ['--provisioner']),
  );
}

/** No kind is published. */
const NO_KINDS: PublishingNeeds = {
  configuration: { namespaces: [], clusterScoped: [], kinds: [], interval: 0 },
  grantable: [],
};

/** On the kinds that are published from every namespace of `publishing.namespaces`. */
function publishedKindRules(): PolicyRule[] {
  const configuration = { ...NO_KINDS.configuration, namespaces: ['placeholder'] };
  return rulesBeyond(
    publishingRules('shared', NO_KINDS),
    publishingRules('shared', { ...NO_KINDS, configuration }),
  );
}

function rulesBeyond(known: readonly PolicyRule[], rules: readonly PolicyRule[]): PolicyRule[] {
  const texts = new Set(known.map((rule) => JSON.stringify(rule)));
  return rules.filter((rule) => !texts.has(JSON.stringify(rule)));
}

/** What Keystone roles are bound to if the operator says nothing. */
function defaultRoles(): unknown {
  const text = wholeConfiguration({ tenancy: { mode: 'shared' }, authentication: KEYSTONE });
  return parseConfiguration(text, '/').configuration?.bindings.roles;
}

function wholeConfiguration(sections: object): string {
  return stringify({
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'tls.crt', keyFile: 'tls.key' } },
    upstream: { server: 'https://kubernetes.default.svc', credential: { tokenFile: 'token' } },
    ...sections,
  });
}

/** The rules of the ClusterRole that the command prints. */
async function rulesOf(sections: object, options: readonly string[]): Promise<PolicyRule[]> {
  const text = wholeConfiguration(sections);
  let [printed, problems] = ['', ''];
  const code = await manifests(
    ['rbac', '--config', '/stonegate.yaml', ...options],
    {
      stdout: (part) => {
        printed += part;
      },
      stderr: (part) => {
        problems += part;
      },
    },
    { readFile: async () => Buffer.from(text), env: {} },
  );
  if (code !== 0) throw new Error(`manifests rbac: ${problems}`);
  const role = parseAllDocuments(printed).find((document) => document.get('kind') === 'ClusterRole');
  return role?.toJS().rules;
}

function subsets(names: readonly string[]): string[][] {
  return names.reduce<string[][]>((all, name) => all.flatMap((set) => [set, [...set, name]]), [[]]);
}
