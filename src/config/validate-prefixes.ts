/**
 * The rules on prefixes of names and groups. One source alone may name people as it likes. As soon as there is
 * a second one, each prefix ends in ":" and none begins another, so that `a:` + `b:x` is never `a:b:` + `x`; and
 * Keystone's names, whose parts hold no bare ":", never look like either.
 */
import type {
  AuthenticationConfiguration,
  JWTConfiguration,
  StonegateConfiguration,
} from '../api/config-v1alpha1.ts';
import { RESERVED_PREFIXES } from '../api/reserved-names.ts';
import type { Finding, Path } from './problem.ts';

/** What Kubernetes, Stonegate and its names for delegated Keystone tokens begin with. */
const RESERVED = [...RESERVED_PREFIXES, 'application-credential:', 'trust:'];

interface Prefix {
  readonly path: Path;
  readonly value: string;
}

/** Where names come from, beside Keystone, which makes its own. */
interface Source {
  readonly username: Prefix;
  readonly groups?: Prefix;
}

export function validatePrefixes({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const { keystone } = authentication;
  const sources = sourcesOf(authentication);
  const users = sources.map(({ username }) => username);
  const groups = sources.flatMap((source) => source.groups ?? []);
  const severalSources = sources.length + (keystone === undefined ? 0 : 1) > 1;
  return [
    ...[...users, ...groups].flatMap(reserved),
    ...(severalSources ? [...users, ...groups].flatMap(unended) : []),
    ...overlaps(users),
    ...overlaps(groups),
    ...(keystone !== undefined && tenancy.mode === 'shared'
      ? users.flatMap((user) => namesDomain(user, Object.keys(tenancy.domains)))
      : []),
  ];
}

/** The user name prefixes of all sources that have one: no Keystone domain may produce a name under one. */
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

/** A name by expression has no prefix that is put before it, but one that it must begin with. */
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

function reserved({ path, value }: Prefix): Finding[] {
  const word = RESERVED.find((start) => value.startsWith(start));
  if (word === undefined) return [];
  return [
    { path, message: `expected a prefix of your own, found one that begins with the reserved "${word}"` },
  ];
}

function unended({ path, value }: Prefix): Finding[] {
  if (value.endsWith(':')) return [];
  const found = value === '' ? 'none' : JSON.stringify(value);
  return [
    {
      path,
      message: `expected a prefix that ends in ":", since there is more than one source, found ${found}`,
    },
  ];
}

/** An empty one, which begins every other, has been told as `unended`. */
function overlaps(prefixes: readonly Prefix[]): Finding[] {
  const given = prefixes.filter(({ value }) => value !== '');
  return given.flatMap(({ path, value }, index) => {
    const twin = given.findIndex(
      (other, at) => at < index && (other.value.startsWith(value) || value.startsWith(other.value)),
    );
    const other = given[twin];
    if (other === undefined) return [];
    const message = `expected a prefix that neither begins another's nor the other way round, found ${JSON.stringify(value)} beside ${JSON.stringify(other.value)}`;
    return [{ path, message: `${message}: two people could get one name`, because: [other.path] }];
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
      because: [['tenancy', 'mode']],
    },
  ];
}
