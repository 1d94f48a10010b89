/**
 * The rules on tenants. Two Keystone domains never become one tenant. The system tenant is nobody's by accident:
 * from a JWT only by an entry of `map`. Arktos takes the tenant `all` for every tenant at once, so that there it is
 * nobody's at all.
 */
import type { JWTTenant, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding, Path } from './problem.ts';

interface Assignment {
  readonly path: Path;
  readonly tenant: string;
  /** Whether somebody wrote down, for one value, that it is this tenant. */
  readonly explicit: boolean;
}

export function validateTenants({ tenancy, authentication }: StonegateConfiguration): Finding[] {
  const domains = Object.entries(tenancy.domains).map(
    ([domain, tenant]): Assignment => ({ path: ['tenancy', 'domains', domain], tenant, explicit: true }),
  );
  const assignments = [
    ...domains,
    ...authentication.jwt.flatMap(({ tenant }, index) =>
      assignmentsOf(tenant, ['authentication', 'jwt', index, 'tenant']),
    ),
  ];
  const findings = assignments.flatMap((assignment) => reserved(assignment, tenancy));
  if (tenancy.mode === 'arktos' && tenancy.systemTenant === 'all') {
    findings.push({ path: ['tenancy', 'systemTenant'], message: ALL, because: MODE });
  }
  return [...findings, ...twins(domains)];
}

function assignmentsOf(tenant: JWTTenant, path: Path): Assignment[] {
  if ('value' in tenant) return [{ path: [...path, 'value'], tenant: tenant.value, explicit: false }];
  if ('map' in tenant) {
    return Object.entries(tenant.map).map(([value, name]) => ({
      path: [...path, 'map', value],
      tenant: name,
      explicit: true,
    }));
  }
  return tenant.allow.map((name, index) => ({
    path: [...path, 'allow', index],
    tenant: name,
    explicit: false,
  }));
}

const MODE = [['tenancy', 'mode']];
const ALL = 'expected another tenant: Arktos reads "all" as every tenant at once';

function reserved(
  { path, tenant, explicit }: Assignment,
  tenancy: StonegateConfiguration['tenancy'],
): Finding[] {
  if (tenant === 'all' && tenancy.mode === 'arktos') return [{ path, message: ALL, because: MODE }];
  const names = ['system', 'all', tenancy.systemTenant];
  if (explicit || !names.includes(tenant)) return [];
  return [{ path, message: `expected another tenant: "${tenant}" is given only by an entry of map` }];
}

function twins(domains: readonly Assignment[]): Finding[] {
  return domains.flatMap(({ path, tenant }, index) =>
    domains.findIndex((other) => other.tenant === tenant) === index
      ? []
      : [
          {
            path,
            message: `expected a tenant of its own, found "${tenant}", which another domain already is`,
          },
        ],
  );
}
