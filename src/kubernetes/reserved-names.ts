/**
 * Names that no external input may produce: users and groups of the cluster, of Keystone and of Stonegate;
 * extra keys of Kubernetes and of Stonegate; namespaces of the cluster.
 */

/** No other identity source may give a user or group such a name, and no client may impersonate one. */
export const RESERVED_PREFIXES = ['system:', 'keystone:', 'stonegate:'] as const;

/** Every user who is not anonymous is in it: the one `system:` group that may come from outside. */
export const AUTHENTICATED = 'system:authenticated';

/** Groups that contain users of every tenant. */
export const GROUPS_OF_EVERYONE: ReadonlySet<string> = new Set([
  AUTHENTICATED,
  'system:unauthenticated',
  'system:serviceaccounts',
]);

/** What the user names of service accounts begin with; namespace and name follow. */
export const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** What the groups of all service accounts of one namespace begin with; the namespace follows. */
export const SERVICE_ACCOUNTS_PREFIX = 'system:serviceaccounts:';

/**
 * Precedes the tenant in the group of all its users, in the tenancy mode whose user names lack the
 * tenant.
 */
export const TENANT_GROUP_PREFIX = 'stonegate:tenant:';

/** Precedes the tenant, `:` and the name of a team in the group of its members. */
export const TEAM_GROUP_PREFIX = 'stonegate:team:';

/** What a guest's name begins with behind the entered tenant: no user's name within a tenant does. */
export const GUEST_PREFIX = 'guest:';

/** All guests are in it; `:` and their own tenant follow in the group of one tenant's guests. */
export const GUESTS_GROUP = 'stonegate:guest';

/** Matches names of roles and bindings that Stonegate makes from roles of Keystone and from policies. */
export const OWN_RBAC_NAME = /^(?:stonegate:|stonegate-(?:policy-)?[0-9a-f]{40}$)/;

/** @returns the reserved prefix of the name; undefined if it has none */
export function reservedPrefixOf(name: string): string | undefined {
  return RESERVED_PREFIXES.find((prefix) => name.startsWith(prefix));
}

/**
 * A key of a user's extra attributes. Lower case only: the API server lower-cases header names.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
export const EXTRA_KEY = /^[a-z0-9/._-]+$/;

/**
 * An extra key that kube-apiserver accepts in an issuer's configuration, in lower case; sent
 * percent-encoded.
 */
export const SENDABLE_EXTRA_KEY = /^[a-z0-9/._~%!$&'()*+,;=:-]+$/;

/**
 * The tenant, in the tenancy mode whose user names do not contain it: an extra key of its users, and a label
 * of its namespaces if it has a quota.
 */
export const TENANT_KEY = 'stonegate.dev/tenant';

/** The user who sent the request, as one JSON value, if the request is made as another user. */
export const ORIGINAL_USER_KEY = 'stonegate.dev/original-user';

/**
 * The id of the user's credential, as kube-apiserver sets it: `JTI=` and the token's id.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/user#CredentialIDKey
 */
export const CREDENTIAL_ID_KEY = 'authentication.kubernetes.io/credential-id';

/** Keys in the domains of Kubernetes and Stonegate, with or without a slash after the domain. */
export const RESERVED_EXTRA_KEY = /^(?:[^/]*\.)?(?:kubernetes\.io|k8s\.io|stonegate\.dev)(?:\/|$)/;

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names */
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
export const MAX_LABEL_LENGTH = 63;

/** @returns why it cannot be the namespace of a project, continuing "which …"; undefined if it can */
export function namespaceProblem(name: string): string | undefined {
  return (
    labelProblem(name) ??
    (isReservedNamespace(name) ? 'is reserved for the cluster or for Stonegate' : undefined)
  );
}

/** @returns why it cannot be the name of a namespace, continuing "which …"; undefined if it can */
export function labelProblem(name: string): string | undefined {
  if (name.length > MAX_LABEL_LENGTH) return `is longer than ${MAX_LABEL_LENGTH} characters`;
  if (!LABEL.test(name))
    return 'is no DNS-1123 label: lower-case letters, digits and "-", which is neither first nor last';
  return undefined;
}

/** Arktos takes it for the union of all tenants: no tenant has this name. */
const ALL_TENANTS = 'all';
/** Arktos' own name of the system tenant. */
const SYSTEM_TENANT = 'system';

/** Whether it can be the name of one tenant. */
export function isOneTenant(name: string): boolean {
  return name !== ALL_TENANTS && labelProblem(name) === undefined;
}

/** Whether a policy may let users of other tenants into it. */
export function isEnterable(tenant: string, systemTenant: string): boolean {
  return isOneTenant(tenant) && tenant !== systemTenant && tenant !== SYSTEM_TENANT;
}

/**
 * @returns the prefix for which no policy may name the user of a tenant, a name within that tenant; undefined
 *   if there is none
 */
export function reservedUserPrefix(name: string): string | undefined {
  return name.startsWith(GUEST_PREFIX) ? GUEST_PREFIX : reservedPrefixOf(name);
}

/** @returns the prefix for which no policy may name the group, since no user brings one; undefined if none */
export function reservedGroupPrefix(name: string): string | undefined {
  return ['system:', 'stonegate:'].find((prefix) => name.startsWith(prefix));
}

/** Namespaces of the cluster, and those in which Stonegate itself may run. */
export function isReservedNamespace(name: string): boolean {
  return name === 'default' || /^kube-/.test(name) || /^stonegate(?:-|$)/.test(name);
}
