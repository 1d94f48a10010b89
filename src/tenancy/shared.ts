/**
 * Tenancy mode `shared`: one ordinary Kubernetes cluster for everybody. Paths stay as they are; the tenant shows
 * in user name, groups and extra, and bindings decide.
 */
import { StatusError } from '../errors/status-error.ts';
import { createTenantResolver } from './domains.ts';
import { finishedUser } from './finished-user.ts';
import { selfReviewOf } from './self-review.ts';
import type { TenancyMode } from './tenancy-mode.ts';
import { NO_TENANT } from './tenant-name.ts';
import { type NamedIdentity, userOrNamed } from './unnamed-user.ts';
import { escapeNamePart, personalName } from './user-name.ts';

export interface SharedOptions {
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** The user name prefixes of the configured issuers: no Keystone domain may produce a name under one. */
  readonly reservedNamePrefixes: readonly string[];
  /** Then a question about oneself is about who one is in the namespace that its body names. */
  readonly looksUpRoles?: boolean;
}

/** @throws Error where `domains` gives two domains one tenant */
export function createSharedMode({
  domains,
  reservedNamePrefixes,
  looksUpRoles,
}: SharedOptions): TenancyMode {
  const resolve = createTenantResolver({ domains, reserved: new Set(['system', 'all']) });

  function nameOf({ subject }: NamedIdentity): string {
    if (subject.kind === 'claim') return subject.name;
    const domain = escapeNamePart(subject.userDomain.name);
    if (reservedNamePrefixes.some((prefix) => meets(domain, prefix))) {
      throw new StatusError(
        'IdentityReserved',
        `this identity is refused: user names under ${JSON.stringify(`${domain}:`)} belong to an OIDC issuer`,
      );
    }
    return `${domain}:${personalName(subject)}`;
  }

  return {
    name: 'shared',
    readsTenantFromPath: false,
    hiddenResources: new Set(),
    hiddenGroups: new Set(),
    isSystem: () => false,
    isWithinTenant: () => true,
    reviewTenant: () => undefined,
    concernsCluster: (info) => !info.isResourceRequest || info.namespace === '',
    tenantOf: ({ tenantOrigin }) => (tenantOrigin.from === 'nowhere' ? NO_TENANT : resolve(tenantOrigin)),
    userOf: (identity, tenant) =>
      userOrNamed(identity, (named) =>
        finishedUser(named, {
          username: nameOf(named),
          groups: [`stonegate:tenant:${tenant}`],
          extra: { 'stonegate.dev/tenant': [tenant] },
        }),
      ),
    route(info) {
      const target = { path: info.rawPath, query: info.rawQuery };
      const review = selfReviewOf(info);
      return review === 'subject' || (review !== undefined && looksUpRoles)
        ? { kind: 'self-review', review, ...target }
        : { kind: 'forward', ...target };
    },
  };
}

/** Whether `domain:` and a claim behind `prefix` can begin alike. */
function meets(domain: string, prefix: string): boolean {
  const [word = ''] = prefix.split(':', 1);
  return prefix.includes(':') ? domain === word : domain.startsWith(prefix);
}
