/**
 * Tenancy mode `shared`: one ordinary Kubernetes cluster for everybody. Paths stay as they are; the tenant
 * shows in user name, groups and extra, and bindings decide.
 */

import { refusedName, StatusError } from '../errors/status-error.ts';
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { TenantName } from '../kubernetes/request-info.ts';
import { TENANT_GROUP_PREFIX, TENANT_KEY } from '../kubernetes/reserved-names.ts';
import { createDomainFinder, createTenantResolver } from './domains.ts';
import { TENANCY_FACTS } from './facts.ts';
import { finishedUser, type NamedIdentity, userOrNamed } from './finished-user.ts';
import { nameBelow, serviceAccountOf } from './impersonation-target.ts';
import { selfReviewOf } from './self-review.ts';
import type { TenancyMode } from './tenancy-mode.ts';
import { NO_TENANT } from './tenant-name.ts';
import { escapeNamePart, nameInDomain } from './user-name.ts';

export interface SharedOptions {
  /** Keystone domain name → tenant. */
  readonly domains: Readonly<Record<string, string>>;
  /** The user name prefixes of the configured issuers: no Keystone domain may produce a name under one. */
  readonly reservedNamePrefixes: readonly string[];
  /** If true, a self review is answered with the user's roles in the namespace that its body names. */
  readonly looksUpRoles?: boolean;
  /** If true, a self review is "allowed" if the response would be filtered. */
  readonly filtersResponses?: boolean;
}

/** @throws Error if `domains` gives two domains one tenant */
export function createSharedMode({
  domains,
  reservedNamePrefixes,
  looksUpRoles,
  filtersResponses,
}: SharedOptions): TenancyMode {
  const resolve = createTenantResolver({ domains, reserved: new Set(['system', 'all']) });
  const domainOf = createDomainFinder(domains);

  function nameOf({ subject }: NamedIdentity): string {
    if (subject.kind === 'claim') return subject.name;
    return `${prefixOf(subject.userDomain.name)}${nameInDomain(subject)}`;
  }

  /** What the names of a Keystone domain's users begin with. */
  function prefixOf(domainName: string): string {
    const domain = escapeNamePart(domainName);
    if (reservedNamePrefixes.some((prefix) => meets(domain, prefix))) {
      throw refusedName(
        'IdentityReserved',
        `this identity is refused: user names under ${JSON.stringify(`${domain}:`)} belong to an OIDC issuer`,
        `${domain}:`,
      );
    }
    return `${domain}:`;
  }

  function nameInTenant(wanted: string, tenant: TenantName): string {
    const domain = domainOf(tenant);
    if (domain !== undefined) return nameBelow(prefixOf(domain), wanted);
    throw new StatusError(
      'ImpersonationForbidden',
      `impersonation is refused: no Keystone domain belongs to the tenant ${JSON.stringify(tenant)}, so none of its names are known`,
    );
  }

  return {
    name: 'shared',
    facts: TENANCY_FACTS.shared,
    hiddenResources: new Set(),
    readableResources: new Map(),
    hiddenGroups: new Set(),
    watchEvents: 'asTheyAre',
    protobuf: 'asItIs',
    watchLists: 'asTheyAre',
    listsAtRevision: true,
    isSystem: () => false,
    isWithinTenant: () => true,
    reviewTenant: () => undefined,
    isClusterWide: (info) => !info.isResourceRequest || info.namespace === '',
    tenantOf: ({ tenantOrigin }) => (tenantOrigin.from === 'nowhere' ? NO_TENANT : resolve(tenantOrigin)),
    userOf: (identity, tenant) =>
      userOrNamed(identity, TENANCY_FACTS.shared, (named) =>
        finishedUser(named, {
          username: nameOf(named),
          ...tenantAttributes(tenant),
        }),
      ),
    impersonationTarget(wanted, tenant) {
      const serviceAccount = serviceAccountOf(wanted);
      return serviceAccount === undefined
        ? { username: nameInTenant(wanted, tenant), ...tenantAttributes(tenant) }
        : // It is a namespace's, not a tenant's: who may act as it, the namespace's rolebindings say.
          { username: wanted, serviceAccount, groups: [], extra: {} };
    },
    // Keystone's parts of a name have no colon: with one, or a source's prefix, it is whole.
    memberName: (wanted, tenant) =>
      wanted.includes(':') || reservedNamePrefixes.some((prefix) => wanted.startsWith(prefix))
        ? nameBelow('', wanted)
        : nameInTenant(wanted, tenant),
    route(info) {
      const target = { path: info.rawPath, query: info.rawQuery };
      const review = selfReviewOf(info);
      const isRead =
        review === 'subject' ||
        (review !== undefined && looksUpRoles === true) ||
        (review === 'access' && filtersResponses === true);
      return review !== undefined && isRead
        ? { kind: 'self-review', review, ...target }
        : { kind: 'forward', ...target };
    },
  };
}

/** The group and the extra that every user of a tenant has. */
function tenantAttributes(tenant: TenantName): Pick<UserInfo, 'groups' | 'extra'> {
  return { groups: [`${TENANT_GROUP_PREFIX}${tenant}`], extra: { [TENANT_KEY]: [tenant] } };
}

/** Whether `domain:` and a claim behind `prefix` can begin alike. */
function meets(domain: string, prefix: string): boolean {
  const [word = ''] = prefix.split(':', 1);
  return prefix.includes(':') ? domain === word : domain.startsWith(prefix);
}
