/**
 * Rules for the names of users, groups and tenants: no two users share a name, two Keystone domains never
 * map to one tenant, and the system tenant needs an explicit entry.
 */

import { CREDENTIAL_ID_KEY, RESERVED_PREFIXES } from '../kubernetes/reserved-names.ts';
import { everywhere } from '../tenancy/places.ts';
import type {
  AuthenticationConfiguration,
  CoreConfiguration,
  JWTConfiguration,
  JWTTenant,
} from './core-configuration.ts';
import type { Path, Rule } from './problem.ts';

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
export function prefixRules({ authentication, tenancy }: CoreConfiguration): Rule[] {
  const { keystone } = authentication;
  const sources = sourcesOf(authentication);
  const users = sources.map(({ username }) => username);
  const groups = sources.flatMap((source) => source.groups ?? []);
  const severalSources = sources.length + (keystone === undefined ? 0 : 1) > 1;
  const domains =
    keystone !== undefined && !tenancy.facts.readsTenantFromName ? Object.keys(tenancy.domains) : [];
  return [
    ...[...users, ...groups].flatMap((prefix) => ownPrefixRules(prefix, severalSources)),
    ...[users, groups].flatMap(overlapRules),
    ...users.map((user) => domainRule(user, domains)),
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

function ownPrefixRules({ path, value }: Prefix, severalSources: boolean): Rule[] {
  const reserved = RESERVED.find((start) => value.startsWith(start));
  const found = value === '' ? 'none' : JSON.stringify(value);
  return [
    [
      path,
      reserved !== undefined,
      `expected a prefix of your own, found one that begins with the reserved "${reserved}"`,
    ],
    [
      path,
      severalSources && !value.endsWith(':'),
      `expected a prefix that ends in ":", since there is more than one source, found ${found}`,
    ],
  ];
}

/** An empty prefix, which begins every other, is reported for its missing colon. */
function overlapRules(prefixes: readonly Prefix[]): Rule[] {
  const given = prefixes.filter(({ value }) => value !== '');
  return given.map(({ path, value }, index) => {
    const other = given
      .slice(0, index)
      .find((earlier) => earlier.value.startsWith(value) || value.startsWith(earlier.value));
    const message = `expected a prefix that neither begins another's nor the other way round, found ${JSON.stringify(value)} and ${JSON.stringify(other?.value)}`;
    return [path, other !== undefined, `${message}: two users could get the same name`];
  });
}

/** A Keystone user in shared mode is `<domain>:<name>`, so no prefix may be a domain. */
function domainRule({ path, value }: Prefix, domains: readonly string[]): Rule {
  const domain = domains.find((name) => value.startsWith(`${name}:`));
  const message = `expected a prefix that is no Keystone domain, found the domain ${JSON.stringify(domain)}`;
  return [path, domain !== undefined, message];
}

interface Assignment {
  readonly path: Path;
  readonly tenant: string;
  /** Whether the operator assigned this tenant to one specific value. */
  readonly explicit: boolean;
}

/** No user in arktos mode may be of the tenant `all`, which Arktos reads as every tenant. */
export function tenantRules({ tenancy, authentication }: CoreConfiguration): Rule[] {
  const domains = Object.entries(tenancy.domains).map(
    ([domain, tenant]): Assignment => ({ path: ['tenancy', 'domains', domain], tenant, explicit: true }),
  );
  const assignments = [
    ...domains,
    ...authentication.jwt.flatMap(({ tenant }, index) =>
      assignmentsOf(tenant, ['authentication', 'jwt', index, 'tenant']),
    ),
    { path: ['tenancy', 'systemTenant'], tenant: tenancy.systemTenant, explicit: true },
  ];
  const ofMap = ['system', 'all', tenancy.systemTenant];
  return [
    ...assignments.flatMap(({ path, tenant, explicit }): Rule[] => {
      const isAll = tenant === everywhere(tenancy.facts).tenant;
      return [
        [path, isAll, 'expected another tenant: Arktos reads "all" as every tenant at once'],
        [
          path,
          !isAll && !explicit && ofMap.includes(tenant),
          `expected another tenant: "${tenant}" is assigned only by an entry of map`,
        ],
      ];
    }),
    ...domains.map(
      ({ path, tenant }, index): Rule => [
        path,
        domains.findIndex((other) => other.tenant === tenant) !== index,
        `expected a tenant of its own, found "${tenant}", which another domain already is`,
      ],
    ),
  ];
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

/**
 * The extra keys that are sent only if the API server allows it: ClusterRoles printed by older versions lack
 * them.
 */
export function optionalExtraKeysOf({ jwt }: Pick<AuthenticationConfiguration, 'jwt'>): string[] {
  return jwt.length > 0 ? [CREDENTIAL_ID_KEY] : [];
}
