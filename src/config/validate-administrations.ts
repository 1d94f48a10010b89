/**
 * Rules about the administrations of sets of tenants in a configuration. What the API server's objects decide
 * is checked when it is known, see `policy/`.
 */

import { isEnterable } from '../kubernetes/reserved-names.ts';
import { ownValue } from '../lib/json-object.ts';
import type { AdministrationConfiguration, StonegateConfiguration } from './configuration.ts';
import type { Finding, Path } from './problem.ts';

export function validateAdministrations(configuration: StonegateConfiguration): Finding[] {
  return configuration.authorization.administrations.flatMap((administration, at) =>
    [...problemsOf(administration, configuration)].map(({ path, message }) => ({
      path: ['authorization', 'administrations', at, ...path],
      message,
    })),
  );
}

function* problemsOf(
  { notAfter, domain, tenants: { names = [] } }: AdministrationConfiguration,
  { authorization, tenancy }: StonegateConfiguration,
): Generator<Finding> {
  if (authorization.administrationsMustEnd && notAfter === undefined)
    yield { path: ['notAfter'], message: 'is required with authorization.administrationsMustEnd' };
  const home = domain === undefined ? tenancy.systemTenant : homeOf(domain, tenancy);
  if (home === undefined)
    yield {
      path: ['domain'],
      message: 'expected a Keystone domain that has a tenant: see tenancy.domains',
    };
  for (const [at, name] of names.entries()) {
    const path: Path = ['tenants', 'names', at];
    if (name === '*') continue;
    if (!isEnterable(name, tenancy.systemTenant))
      yield { path, message: `expected a tenant that users of others may enter, found "${name}"` };
    else if (name === home) yield { path, message: 'expected another tenant than that of the groups' };
  }
}

/** Maps a domain as the tenancy mode does: by an entry, or by its name if that is a free tenant name. */
function homeOf(
  domain: string,
  { domains, systemTenant }: StonegateConfiguration['tenancy'],
): string | undefined {
  const entry = ownValue(domains, domain);
  if (entry !== undefined) return entry;
  const isTaken = Object.values(domains).includes(domain);
  return !isTaken && isEnterable(domain, systemTenant) ? domain : undefined;
}
