/**
 * The rules on prefixes of JWT names and groups. One source alone may name people as it likes. As soon as there is
 * a second one, each prefix ends in ":" and none begins another, so that `a:` + `b:x` is never `a:b:` + `x`; and
 * Keystone's names, whose parts hold no bare ":", never look like either.
 */
import type { JWTConfiguration, StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding, Path } from './problem.ts';

/** What Kubernetes, Stonegate and its names for delegated Keystone tokens begin with. */
const RESERVED = ['system:', 'keystone:', 'stonegate:', 'application-credential:', 'trust:'];

interface Prefix {
  readonly path: Path;
  readonly value: string;
}

export function validatePrefixes({ authentication, tenancy }: StonegateConfiguration): Finding[] {
  const { jwt, keystone } = authentication;
  const users = jwt.map((issuer, index) => prefixAt(index, 'username', issuer.claimMappings.username));
  const groups = jwt.flatMap((issuer, index) => groupsPrefix(issuer, index));
  const severalSources = jwt.length + (keystone === undefined ? 0 : 1) > 1;
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

function prefixAt(index: number, kind: string, { prefix }: { readonly prefix: string }): Prefix {
  return { path: ['authentication', 'jwt', index, 'claimMappings', kind, 'prefix'], value: prefix };
}

function groupsPrefix({ claimMappings }: JWTConfiguration, index: number): Prefix[] {
  return claimMappings.groups === undefined ? [] : [prefixAt(index, 'groups', claimMappings.groups)];
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

function overlaps(prefixes: readonly Prefix[]): Finding[] {
  return prefixes.flatMap(({ path, value }, index) => {
    const twin = prefixes.findIndex(
      (other, at) => at < index && (other.value.startsWith(value) || value.startsWith(other.value)),
    );
    const other = prefixes[twin];
    if (other === undefined) return [];
    const message = `expected a prefix that neither begins another's nor the other way round, found ${JSON.stringify(value)} beside ${JSON.stringify(other.value)}`;
    return [{ path, message: `${message}: two people could get one name` }];
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
