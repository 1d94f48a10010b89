/**
 * Rules for the names of users, groups and tenants: no two users share a name, two Keystone domains never
 * map to one tenant, and the system tenant needs an explicit entry.
 */

import { CREDENTIAL_ID_KEY, RESERVED_PREFIXES } from '../kubernetes/reserved-names.ts';
import type {
  AuthenticationConfiguration,
  JWTConfiguration,
  JWTTenant,
  StonegateConfiguration,
} from './configuration.ts';
import type { Finding, Path } from './problem.ts';

/** Prefixes of names of Kubernetes, of Stonegate and of delegated Keystone tokens. */
const RESERVED = [...RESERVED_PREFIXES, 'application-credential:', 'trust:'];

interface Prefix {
  readonly path: Path;
  readonly value: string;
}

/** A source of names other than Keystone, whose names have a fixed form. */
interface Source {
  readonly username: Prefix;
  readonly groups?: Prefix;
}

/**
 * With one source, names may have any prefix. With several, each prefix must end in ":" and none may begin
 * another, so that `a:` + `b:x` is never `a:b:` + `x`. Parts of Keystone names contain no bare ":", so those
 * differ from both.
 */
export function validatePrefixes({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const { keystone } = authentication;
  const sources = sourcesOf(authentication);
  const users = sources.map(({ username }) => username);
  const groups = sources.flatMap((source) => source.groups ?? []);
  const severalSources = sources.length + (keystone === undefined ? 0 : 1) > 1;
  return [
    ...[...users, ...groups].flatMap(reservedPrefix),
    ...(severalSources ? [...users, ...groups].flatMap(withoutColon) : []),
    ...overlaps(users),
    ...overlaps(groups),
    ...(keystone !== undefined && tenancy.mode === 'shared'
      ? users.flatMap((user) => namesDomain(user, Object.keys(tenancy.domains)))
      : []),
  ];
}

/**
 * The user name prefixes of all sources that have one. No Keystone domain may produce a name with one of
 * them.
 */
export function usernamePrefixesOf(authentication: AuthenticationConfiguration): readonly string[] {
  return sourcesOf(authentication).map(({ username }) => username.value);
}

function sourcesOf({
  jwt,
  tokenFile,
  basicAuthFile,
  clientCertificates,
}: AuthenticationConfiguration): readonly Source[] {
  return [
    ...jwt.map((issuer, index) => issuerSource(issuer, ['authentication', 'jwt', index])),
    ...prefixesAt('tokenFile', tokenFile),
    ...prefixesAt('basicAuthFile', basicAuthFile),
    ...prefixesAt('clientCertificates', clientCertificates),
  ];
}

/** A name made by an expression gets no prefix added; it must begin with `usernamePrefix`. */
function issuerSource({ claimMappings, usernamePrefix, groupsPrefix }: JWTConfiguration, path: Path): Source {
  const { username, groups } = claimMappings;
  return {
    username:
      'claim' in username
        ? { path: [...path, 'claimMappings', 'username', 'prefix'], value: username.prefix }
        : { path: [...path, 'usernamePrefix'], value: usernamePrefix ?? '' },
    ...(groups && {
      groups:
        'claim' in groups
          ? { path: [...path, 'claimMappings', 'groups', 'prefix'], value: groups.prefix }
          : { path: [...path, 'groupsPrefix'], value: groupsPrefix ?? '' },
    }),
  };
}

function prefixesAt(
  field: string,
  given: { readonly usernamePrefix: string; readonly groupsPrefix: string } | undefined,
): Source[] {
  if (given === undefined) return [];
  const path = ['authentication', field];
  return [
    {
      username: { path: [...path, 'usernamePrefix'], value: given.usernamePrefix },
      groups: { path: [...path, 'groupsPrefix'], value: given.groupsPrefix },
    },
  ];
}

function reservedPrefix({ path, value }: Prefix): Finding[] {
  const word = RESERVED.find((start) => value.startsWith(start));
  if (word === undefined) return [];
  return [
    { path, message: `expected a prefix of your own, found one that begins with the reserved "${word}"` },
  ];
}

function withoutColon({ path, value }: Prefix): Finding[] {
  if (value.endsWith(':')) return [];
  const found = value === '' ? 'none' : JSON.stringify(value);
  return [
    {
      path,
      message: `expected a prefix that ends in ":", since there is more than one source, found ${found}`,
    },
  ];
}

/** An empty prefix, which begins every other, is reported by `withoutColon`. */
function overlaps(prefixes: readonly Prefix[]): Finding[] {
  const given = prefixes.filter(({ value }) => value !== '');
  return given.flatMap(({ path, value }, index) => {
    const twin = given.findIndex(
      (other, at) => at < index && (other.value.startsWith(value) || value.startsWith(other.value)),
    );
    const other = given[twin];
    if (other === undefined) return [];
    const message = `expected a prefix that neither begins another's nor the other way round, found ${JSON.stringify(value)} beside ${JSON.stringify(other.value)}`;
    return [{ path, message: `${message}: two users could get the same name` }];
  });
}

/** In shared mode a Keystone user is `<domain>:<name>`. */
function namesDomain({ path, value }: Prefix, domains: readonly string[]): Finding[] {
  const domain = domains.find((name) => value.startsWith(`${name}:`));
  if (domain === undefined) return [];
  return [
    {
      path,
      message: `expected a prefix that is no Keystone domain, found the domain ${JSON.stringify(domain)}`,
    },
  ];
}

interface Assignment {
  readonly path: Path;
  readonly tenant: string;
  /** Whether the operator assigned this tenant to one specific value. */
  readonly explicit: boolean;
}

/** In arktos mode no user may be of the tenant `all`, which Arktos reads as every tenant. */
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
  const findings = assignments.flatMap((assignment) => reservedTenant(assignment, tenancy));
  if (tenancy.mode === 'arktos' && tenancy.systemTenant === 'all') {
    findings.push({ path: ['tenancy', 'systemTenant'], message: ALL });
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

const ALL = 'expected another tenant: Arktos reads "all" as every tenant at once';

function reservedTenant(
  { path, tenant, explicit }: Assignment,
  tenancy: StonegateConfiguration['tenancy'],
): Finding[] {
  if (tenant === 'all' && tenancy.mode === 'arktos') return [{ path, message: ALL }];
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

/**
 * The extra keys that are sent only if the API server allows it: ClusterRoles printed by older versions lack
 * them.
 */
export function optionalExtraKeysOf({ jwt }: Pick<AuthenticationConfiguration, 'jwt'>): string[] {
  return jwt.length > 0 ? [CREDENTIAL_ID_KEY] : [];
}
