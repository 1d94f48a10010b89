/**
 * Rules about who may enter other tenants: in arktos mode only, with a credential that can write the roles of
 * guests. What the API server's objects decide is checked when it is known, see `policy/`.
 */
import { CLUSTER_ROLES } from '../api/cluster-roles.ts';
import type { AdministrationConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import { withoutEscalation } from '../api/grantable-rules.ts';
import { isEnterable, reservedGroupPrefix } from '../api/reserved-names.ts';
import { ownValue } from '../lib/json-object.ts';
import type { Finding, Path } from './problem.ts';

const EVERY = '*';

export function validateAuthorization(configuration: StonegateConfiguration): Finding[] {
  const { administrations } = configuration.authorization;
  return [
    ...validateUse(configuration),
    ...administrations.flatMap((administration, at) =>
      validateAdministration(administration, at, configuration),
    ),
  ];
}

/** The fields that let users into other tenants. */
function usedFields({ authorization }: StonegateConfiguration): Path[] {
  const { abacPolicyFile, crossTenantPolicies, tenantAdministrations, administrations } = authorization;
  const fields: readonly (readonly [name: string, isUsed: boolean])[] = [
    ['abacPolicyFile', abacPolicyFile !== undefined],
    ['crossTenantPolicies', crossTenantPolicies],
    ['tenantAdministrations', tenantAdministrations],
    ['administrations', administrations.length > 0],
  ];
  return fields.filter(([, isUsed]) => isUsed).map(([name]) => ['authorization', name]);
}

function validateUse(configuration: StonegateConfiguration): Finding[] {
  const { tenancy, bindings } = configuration;
  const used = usedFields(configuration);
  const [first] = used;
  if (first === undefined) return [];
  if (tenancy.mode !== 'arktos')
    return used.map((path) => ({
      path,
      message: 'has no effect in shared mode, in which a RoleBinding lets users of another tenant in',
    }));
  if (bindings.credential !== undefined) return [];
  return [
    {
      path: ['bindings', 'credential'],
      message: `is required with ${first.join('.')}: what impersonates must not also write the roles of guests`,
    },
  ];
}

function validateAdministration(
  administration: AdministrationConfiguration,
  at: number,
  configuration: StonegateConfiguration,
): Finding[] {
  const { administrations, administrationsMustEnd } = configuration.authorization;
  const { name, groups, clusterRole, notAfter, domain } = administration;
  const findings: Finding[] = [];
  const add = (path: Path, message: string) =>
    findings.push({ path: ['authorization', 'administrations', at, ...path], message });
  if (administrations.findIndex((other) => other.name === name) < at)
    add(['name'], `expected another name: ${name} is taken`);
  if (administrationsMustEnd && notAfter === undefined)
    add(['notAfter'], 'is required with authorization.administrationsMustEnd');
  groups.forEach((group, index) => {
    const prefix = group === EVERY ? EVERY : reservedGroupPrefix(group);
    if (prefix !== undefined) add(['groups', index], `expected a group of users, found one under ${prefix}`);
  });
  if (domain !== undefined && homeOf(domain, configuration) === undefined)
    add(['domain'], 'expected a Keystone domain that has a tenant: see tenancy.domains');
  const problem = clusterRoleProblem(clusterRole);
  if (problem !== undefined) add(['clusterRole'], problem);
  for (const { path, message } of selectionProblems(administration, configuration))
    add(['tenants', ...path], message);
  return findings;
}

function selectionProblems(
  { tenants: { names, matchLabels, domains }, domain }: AdministrationConfiguration,
  configuration: StonegateConfiguration,
): { path: Path; message: string }[] {
  if (names === undefined && matchLabels === undefined && domains === undefined)
    return [{ path: [], message: 'expected names, matchLabels or domains: nothing selects no tenant' }];
  if (names === undefined) return [];
  if (names.includes(EVERY))
    return names.length === 1
      ? []
      : [{ path: ['names'], message: 'expected `*` alone, since it is every tenant' }];
  const { systemTenant } = configuration.tenancy;
  const home = domain === undefined ? systemTenant : homeOf(domain, configuration);
  return names.flatMap((name, at) => {
    const path = ['names', at];
    if (!isEnterable(name, systemTenant))
      return [{ path, message: `expected a tenant that users of others may enter, found "${name}"` }];
    if (name === home) return [{ path, message: 'expected another tenant than that of the groups' }];
    return [];
  });
}

/** As the tenancy mode maps domains: by an entry, or by a name that is a tenant's and not taken. */
function homeOf(domain: string, { tenancy }: StonegateConfiguration): string | undefined {
  const entry = ownValue(tenancy.domains, domain);
  if (entry !== undefined) return entry;
  const isTaken = Object.values(tenancy.domains).includes(domain);
  return !isTaken && isEnterable(domain, tenancy.systemTenant) ? domain : undefined;
}

function clusterRoleProblem(name: string): string | undefined {
  const own = CLUSTER_ROLES.get(name);
  const granting = [...CLUSTER_ROLES].filter(([, rules]) => withoutEscalation(rules).length > 0);
  if (name.startsWith('stonegate:') && (own === undefined || withoutEscalation(own).length === 0))
    return `expected one of ${granting.map(([role]) => role).join(', ')}, or a name of your own, found "${name}"`;
  return undefined;
}
