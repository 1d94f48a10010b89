/**
 * Decides which subjects of bindings a user may see: names of other tenants are hidden. A subject that
 * cannot be distinguished from another tenant's counts as one.
 */

import type { TenantName } from '../kubernetes/request-info.ts';
import {
  SERVICE_ACCOUNT_PREFIX,
  SERVICE_ACCOUNTS_PREFIX,
  TEAM_GROUP_PREFIX,
  TENANT_GROUP_PREFIX,
} from '../kubernetes/reserved-names.ts';
import { memoize } from '../lib/memoize.ts';
import type { RBACUser } from '../rbac/attributes.ts';
import { allows } from '../rbac/decide.ts';
import type { RBACIndex } from '../rbac/rbac-index.ts';
import { type SubjectKey, subjectOfKey } from '../rbac/subject-key.ts';
import type { SubjectGrant } from '../rbac/who-can.ts';
import type { Identity } from '../tenancy/identity.ts';
import { keystoneGroupInWords, projectGroup, readKeystoneGroup } from '../tenancy/keystone-groups.ts';
import type { TenancyMode } from '../tenancy/tenancy-mode.ts';
import { NO_TENANT } from '../tenancy/tenant-name.ts';
import { escapeNamePart } from '../tenancy/user-name.ts';

/** The user who asks. */
export interface Viewer {
  /** The user, with the tenant of the bindings, which is empty if the API server has no tenants. */
  readonly user: RBACUser;
  /** The tenant by Stonegate's name; empty if the user has none. */
  readonly tenant: string;
  /** Whether the tenant's users may act in every tenant. */
  readonly isSystem: boolean;
  /** Keystone's domain of the tenant. */
  readonly domainID: string | undefined;
  /** What the names of the domain's users begin with, with the colon. */
  readonly namePrefix: string | undefined;
  /** Whether an operator asks, with Stonegate's own credential, which reads every role and binding. */
  readonly isOperator?: boolean;
}

/**
 * The facts about the asking user that decide which names the user may see.
 *
 * @param user with the groups that count where names are asked for
 */
export function viewerOf(
  { subject, tenantOrigin, accessToken }: Pick<Identity, 'subject' | 'tenantOrigin' | 'accessToken'>,
  { username, groups }: Pick<RBACUser, 'username' | 'groups'>,
  tenant: TenantName,
  mode: Pick<TenancyMode, 'reviewTenant' | 'isSystem'>,
): Viewer {
  const home = mode.reviewTenant(tenant) ?? '';
  return {
    user: { tenant: home, username, groups, scope: accessToken },
    tenant: tenant === NO_TENANT ? '' : tenant,
    isSystem: home !== '' && mode.isSystem(tenant),
    domainID: tenantOrigin.from === 'domain' ? tenantOrigin.domain.id : undefined,
    namePrefix: subject.kind === 'keystone' ? `${escapeNamePart(subject.scopeDomain.name)}:` : undefined,
  };
}

/** A Keystone project or domain with its names. */
interface NamedScope {
  readonly name: string;
  /** The id of the project's domain; a domain has its own id here. */
  readonly domainID: string;
}

/** Keystone's projects and domains by id. */
export interface Scopes {
  readonly projects: ReadonlyMap<string, NamedScope>;
  readonly domains: ReadonlyMap<string, NamedScope>;
}

export interface SubjectFilterOptions {
  readonly index: RBACIndex;
  /** Whether the index is current: it then also decides what the user may read. */
  readonly isCurrent: boolean;
  readonly scopes: Scopes | undefined;
}

/** Decides which names one user may see. */
export class SubjectFilter {
  readonly viewer: Viewer;
  /** An operator of the whole cluster: the user may list every binding, so no name in one is a secret. */
  readonly seesAll: boolean;
  readonly #options: SubjectFilterOptions;
  /** Whether the viewer may list the RoleBindings of all namespaces. */
  readonly #listsEverywhere: boolean;
  /** ClusterRoleBindings have the empty namespace. */
  readonly #mayListBindings = memoize((namespace) =>
    this.#may('list', namespace === '' ? 'clusterrolebindings' : 'rolebindings', namespace, ''),
  );
  readonly #mayGetNamespace = memoize((namespace) => this.#may('get', 'namespaces', namespace, namespace));

  constructor(viewer: Viewer, options: SubjectFilterOptions) {
    this.viewer = viewer;
    this.#options = options;
    this.#listsEverywhere = this.#may('list', 'rolebindings', '', '');
    this.seesAll =
      viewer.isSystem || (viewer.user.tenant === '' && this.#listsEverywhere && this.mayList(''));
  }

  /** Whether the subject may be named: it is the user's own, or the user may list the binding. */
  shows({ key, binding }: Pick<SubjectGrant, 'key' | 'binding'>): boolean {
    return (
      this.seesAll || this.viewer.user.tenant !== '' || this.#isOwn(key) || this.mayList(binding.namespace)
    );
  }

  /**
   * Whether bindings there, and their roles, may be named, by the index: the viewer may list them.
   *
   * @param namespace empty for ClusterRoleBindings
   */
  mayList(namespace: string): boolean {
    if (this.viewer.isOperator === true || (namespace !== '' && this.#listsEverywhere)) return true;
    return this.#mayListBindings(namespace);
  }

  /** Whether the viewer may read a role or a binding, by the index. */
  mayGet({
    resource,
    namespace,
    name,
  }: {
    readonly resource: string;
    readonly namespace: string;
    readonly name: string;
  }): boolean {
    return this.viewer.isOperator === true || this.#may('get', resource, namespace, name);
  }

  /** Whether the viewer may see the name of the Keystone project or domain. */
  #mayName(scope: NamedScope): boolean {
    return this.seesAll || scope.domainID === this.viewer.domainID;
  }

  /** `role member on project web`; undefined if Keystone's names are not known. */
  displayName(group: string): string | undefined {
    const { scopes } = this.#options;
    return keystoneGroupInWords(group, (kind, id) => {
      const known = (kind === 'project' ? scopes?.projects : scopes?.domains)?.get(id);
      return known && this.#mayName(known) ? known.name : undefined;
    });
  }

  #may(verb: string, resource: string, namespace: string, name: string): boolean {
    const { index, isCurrent } = this.#options;
    const { user } = this.viewer;
    const apiGroup = resource === 'namespaces' ? '' : 'rbac.authorization.k8s.io';
    const question = { verb, apiGroup, resource, subresource: '', namespace, name, tenant: user.tenant };
    return isCurrent && allows(index, user, question);
  }

  #isOwn(key: SubjectKey): boolean {
    const { kind, name } = subjectOfKey(key);
    const { user, namePrefix } = this.viewer;
    if (kind === 'group') return user.groups.includes(name) || this.#isOwnGroup(name);
    if (name.startsWith(SERVICE_ACCOUNT_PREFIX))
      return name === user.username || this.#isOwnNamespace(name.slice(SERVICE_ACCOUNT_PREFIX.length));
    if (name === user.username || name.startsWith('system:')) return true;
    return namePrefix !== undefined && name.startsWith(namePrefix);
  }

  #isOwnGroup(name: string): boolean {
    if (name.startsWith(SERVICE_ACCOUNTS_PREFIX))
      return this.#isOwnNamespace(name.slice(SERVICE_ACCOUNTS_PREFIX.length));
    if (name.startsWith('system:')) return true;
    const { tenant, domainID, user } = this.viewer;
    if (name.startsWith(TENANT_GROUP_PREFIX))
      return tenant !== '' && name === `${TENANT_GROUP_PREFIX}${tenant}`;
    if (name.startsWith(TEAM_GROUP_PREFIX))
      return tenant !== '' && name.startsWith(`${TEAM_GROUP_PREFIX}${tenant}:`);
    const group = readKeystoneGroup(name);
    if (group === undefined) return false;
    if (group.kind === 'system') return true;
    if (group.kind === 'project' && user.groups.includes(projectGroup(group.id))) return true;
    if (domainID === undefined) return false;
    if (group.kind === 'domain') return group.id === domainID;
    return group.kind === 'project' && this.#options.scopes?.projects.get(group.id)?.domainID === domainID;
  }

  /**
   * The name of a service account, or of the group of a namespace's accounts, contains the namespace: it is
   * shown if the user may read the namespace, or if the namespace is the cluster's.
   *
   * @param place begins with the namespace
   */
  #isOwnNamespace(place: string): boolean {
    const [namespace = ''] = place.split(':', 1);
    return namespace.startsWith('kube-') || this.#mayGetNamespace(namespace);
  }
}
