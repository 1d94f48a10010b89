/**
 * A way of expressing tenants to the API server. A mode is this one small object, with what the configuration
 * decides, and its facts; the rest of the code never asks which mode it is in.
 */
import type { UserInfo } from '../kubernetes/authentication-v1.ts';
import type { RequestInfo, ResourceRequest, TenantName } from '../kubernetes/request-info.ts';
import { memoizeByReference } from '../lib/memoize.ts';
import type { TenancyFacts } from './facts.ts';
import type { Identity } from './identity.ts';
import type { ImpersonationTarget } from './impersonation-target.ts';

/** How a request is served. Refusals are thrown. */
export type Route =
  /** Forwarded as the impersonated user; `path` and `query` are exactly what is sent. */
  | { readonly kind: 'forward'; readonly path: string; readonly query: string }
  /**
   * Fetched as Stonegate itself, since the API server shows it to no tenant, and reduced to what the tenant
   * may see.
   */
  | { readonly kind: 'discovery'; readonly path: string; readonly query: string; readonly reduce: Reduction }
  /** A question about oneself, which the API server may not let the user ask. */
  | {
      readonly kind: 'self-review';
      readonly review: SelfReview;
      readonly path: string;
      readonly query: string;
    }
  /**
   * The Tenant object of the user's own tenant, which the API server shows to no tenant: fetched as Stonegate
   * itself, and reduced.
   */
  | { readonly kind: 'own-tenant'; readonly path: string; readonly query: '' };

/**
 * `groups`: an APIGroupList; `group`: an APIGroup; `resources`: an APIResourceList; `none`: passed on as it
 * is.
 */
export type Reduction = 'groups' | 'group' | 'resources' | 'none';
export type SelfReview = 'access' | 'rules' | 'subject';

export interface Guest {
  /** Their own tenant. */
  readonly home: TenantName;
  /** Their name within it. */
  readonly name: string;
  /** The tenant that they enter. */
  readonly tenant: TenantName;
}

/** A user's name and groups within their own tenant. */
export interface HomeNames {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface GuestRules {
  /** Whether any user of another tenant may ever enter it. */
  mayBeEntered(tenant: TenantName): boolean;
  /**
   * The user as policies of other tenants name them.
   *
   * @returns undefined for a user who cannot be impersonated: anonymous, or with a token of the API server
   * @throws StatusError IdentityReserved or IdentityUnusable
   */
  namedAtHome(identity: Identity): HomeNames | undefined;
  /**
   * @param policyGroup of the policy that lets them in
   * @throws StatusError IdentityUnusable
   */
  userOf(guest: Guest, policyGroup: string): UserInfo;
  /**
   * Decides how a guest's request is served: as one of the entered tenant's users, but nothing is shown that
   * only the tenant's own users see.
   *
   * @throws StatusError PathForbidden for what is no tenant's
   */
  route(info: RequestInfo, method: string, tenant: TenantName, user: UserInfo): Route;
}

export interface TenancyMode {
  readonly name: string;
  readonly facts: TenancyFacts;
  /**
   * The tenant an identity belongs to.
   *
   * @throws StatusError TenantUnknown
   */
  tenantOf(identity: Identity): TenantName;
  /**
   * The user as the API server is to know them.
   *
   * @throws StatusError IdentityReserved or IdentityUnusable
   */
  userOf(identity: Identity, tenant: TenantName): UserInfo;
  /**
   * The user whom a user of the tenant asks to impersonate: always a user of the same tenant.
   *
   * @param wanted the name that the client sent
   * @throws StatusError ImpersonationForbidden or IdentityUnusable
   */
  impersonationTarget(wanted: string, tenant: TenantName): ImpersonationTarget;
  /**
   * The whole name of a user of the tenant, of any source, as bindings and teams have it.
   *
   * @param wanted perhaps without what all names of the tenant begin with
   * @throws StatusError ImpersonationForbidden or IdentityUnusable
   */
  memberName(wanted: string, tenant: TenantName): string;
  /**
   * Decides how a request is served. Other tenants are refused by the authorizer, not here.
   *
   * @throws StatusError PathForbidden for what is no tenant's
   */
  route(info: RequestInfo, method: string, tenant: TenantName, user: UserInfo): Route;
  /** Rules for users who enter other tenants; absent if tenants are not part of paths. */
  readonly guests?: GuestRules;
  /** The tenant named in access reviews; undefined if the API server has no tenants. */
  reviewTenant(tenant: TenantName): TenantName | undefined;
  /**
   * Whether a user of the tenant may request the path, as it is sent, with their own token: the API server
   * does not restrict such a user to the tenant.
   */
  isWithinTenant(path: string, tenant: TenantName): boolean;
  /** Whether the tenant may act in every other: Arktos' system tenant. */
  isSystem(tenant: TenantName): boolean;
  /** Whether a request of that tenant concerns the whole cluster, not only the tenant. */
  isClusterWide(info: RequestInfo, tenant: TenantName): boolean;
  /**
   * Whether the tenant's requests may concern a custom resource whose objects all tenants share without a
   * right to; absent if the API server has none.
   */
  mayBeShared?(info: ResourceRequest, tenant: TenantName): boolean;
  /** The cluster-scoped resources that a tenant's discovery does not show, as `group/resource`. */
  readonly hiddenResources: ReadonlySet<string>;
  /** Verbs of those of which a tenant can read one object, its own; the others have none. */
  readonly readableResources: ReadonlyMap<string, readonly string[]>;
  /** The API groups of which nothing is left then; clients take an empty group for a broken one. */
  readonly hiddenGroups: ReadonlySet<string>;
  /** `filtered` if the API server's BOOKMARK events hold objects of other tenants: then they are dropped. */
  readonly watchEvents: 'filtered' | 'asTheyAre';
  /**
   * `asJSON` if the API server numbers fields differently from Kubernetes, so that each would read another
   * object: bodies are converted, and responses are requested in JSON.
   */
  readonly protobuf: 'asJSON' | 'asItIs';
  /**
   * `refused` if the API server ignores `sendInitialEvents`, so that clients wait for a bookmark that never
   * comes.
   */
  readonly watchLists: 'refused' | 'asTheyAre';
  /** Whether a list can be requested at an exact revision (`resourceVersionMatch=Exact`). */
  readonly listsAtRevision: boolean;
}

export function memoizedMode(mode: TenancyMode): TenancyMode {
  const tenantOf = memoizeByReference((identity: Identity) => mode.tenantOf(identity));
  const userOf = memoizeByReference((identity: Identity) => mode.userOf(identity, tenantOf(identity)));
  return {
    ...mode,
    tenantOf,
    userOf: (identity, tenant) =>
      tenant === tenantOf(identity) ? userOf(identity) : mode.userOf(identity, tenant),
  };
}

/** @returns the same array for the same user as long as the groups are the same */
export type GroupsOf = (tenant: TenantName, username: string) => readonly string[];

/**
 * Adds groups of Stonegate's own to the users whom the mode names. A user of the API server itself has the
 * groups that the API server gives.
 */
export function withGroups(mode: TenancyMode, groupsOf: GroupsOf): TenancyMode {
  // Headers and the like are stored by user: the same user has to be the same object.
  const extended = memoizeByReference((user: UserInfo) =>
    memoizeByReference(
      (groups: readonly string[]): UserInfo => ({ ...user, groups: [...user.groups, ...groups] }),
    ),
  );
  return {
    ...mode,
    userOf(identity, tenant) {
      const user = mode.userOf(identity, tenant);
      if (identity.subject.kind === 'upstream' || identity.subject.kind === 'anonymous') return user;
      const groups = groupsOf(tenant, user.username);
      return groups.length === 0 ? user : extended(user)(groups);
    },
  };
}
