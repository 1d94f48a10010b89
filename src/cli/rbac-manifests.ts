/**
 * The RBAC manifests as text, with comments for the administrator who approves them. Values that do not come
 * from Stonegate have been checked to need no escaping, and are quoted.
 */

import type { EnabledPolicies } from '../api/config-access-v1alpha1.ts';
import type { ConfigMapReference } from '../api/config-v1alpha1.ts';
import { KEYSTONE_EXTRA } from '../api/keystone-groups.ts';
import { ORIGINAL_USER_KEY, TENANT_KEY } from '../api/reserved-names.ts';
import { resourcesOfPolicies } from '../config/enabled-policies.ts';

export interface ImpersonationNeeds {
  readonly mode: 'arktos' | 'shared';
  readonly keystone: boolean;
  /** Whether TokenReview is configured. */
  readonly tokenReview: boolean;
  /** From JWT claim mappings, and for users who impersonate others. */
  readonly extraKeys: readonly string[];
  /** Whether the RBAC index is configured. */
  readonly index: boolean;
  /** Which cross-tenant policies are configured; none without it. */
  readonly policies?: EnabledPolicies;
  /** Whether only the rights of constrained impersonation are granted (Kubernetes 1.36). */
  readonly constrained: boolean;
}

export type Impersonator =
  | { readonly kind: 'User'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string };

/**
 * Paths that Stonegate fetches itself. Tenants of Arktos may read none of them; an ordinary cluster is only
 * probed.
 */
const NON_RESOURCE_URLS = {
  arktos: [
    '/api',
    '/api/v1',
    '/apis',
    '/apis/*',
    '/openapi/v2',
    '/openapi/v3',
    '/openapi/v3/*',
    '/version',
    '/healthz',
    '/livez',
    '/readyz',
  ],
  shared: ['/version'],
} as const;
const NON_RESOURCE_VERBS = { arktos: ['get', 'head'], shared: ['get'] } as const;

/** Arktos' service accounts belong to the system tenant; users of other tenants may not impersonate them. */
const IMPERSONATED = { arktos: ['users', 'groups'], shared: ['users', 'groups', 'serviceaccounts'] } as const;

const TOKEN_REVIEWS = `  # Ask whose a token is: service accounts.
  - apiGroups: ["authentication.k8s.io"]
    resources: ["tokenreviews"]
    verbs: ["create"]
`;

const DEFINITIONS = `  # Which API groups are the system tenant's alone, and which it shares with every tenant: their discovery depends on it.
  - apiGroups: ["apiextensions.k8s.io"]
    resources: ["customresourcedefinitions"]
    verbs: ["list"]
`;

/** Rules of a ClusterRole. */
export const RBAC_INDEX = `  # The RBAC index: the names of all namespaces, and what every user and service account may do.
  - apiGroups: [""]
    resources: ["namespaces"]
    verbs: ["list", "watch"]
  - apiGroups: ["rbac.authorization.k8s.io"]
    resources: ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]
    verbs: ["list", "watch"]
`;

const TENANTS = `  # The tenant of a user, for \`kubectl get tenants\`.
  - apiGroups: [""]
    resources: ["tenants"]
    verbs: ["get"]
`;

/** Rules of a ClusterRole: what policies follow from. The RBAC index reads roles too. */
function policyRules({ policies, index }: ImpersonationNeeds): string {
  if (policies === undefined) return '';
  const rules = resourcesOfPolicies(policies)
    .filter(({ resource }) => !index || resource !== 'clusterroles')
    .map(
      ({ group, resource }) =>
        `  - apiGroups: ["${group}"]\n    resources: ["${resource}"]\n    verbs: ["list", "watch"]\n`,
    );
  return rules.length === 0 ? '' : `  # Who may enter which tenants.\n${rules.join('')}`;
}

/** @returns YAML documents for `kubectl apply -f -` */
export function rbacManifests(needs: ImpersonationNeeds, impersonator: Impersonator): string {
  const documents = [
    ...(impersonator.kind === 'ServiceAccount' ? serviceAccount(impersonator) : []),
    clusterRole(needs),
    clusterRoleBinding('stonegate-impersonator', impersonator),
  ];
  return `${credentialNotes(needs, impersonator)}\n${documents.join('---\n')}`;
}

function extraKeysOf({ mode, keystone, extraKeys }: ImpersonationNeeds): string[] {
  return [
    ...new Set([
      ...(keystone ? Object.values(KEYSTONE_EXTRA) : []),
      ...(mode === 'shared' ? [TENANT_KEY] : []),
      ORIGINAL_USER_KEY,
      ...extraKeys,
    ]),
  ];
}

/** Verbs of resource requests. `proxy` is missing: Kubernetes has removed that path prefix. */
const RESOURCE_VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
/** Verbs of non-resource requests: the HTTP methods. */
const PATH_VERBS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'];

function legacyRules(mode: ImpersonationNeeds['mode'], extras: readonly string[]): string {
  return `  # Forward requests as the user who sent them, or as the user whom that user may impersonate.
  - apiGroups: [""]
    resources: [${IMPERSONATED[mode].map((resource) => `"${resource}"`).join(', ')}]
    verbs: ["impersonate"]
  - apiGroups: ["authentication.k8s.io"]
    resources:
      - "uids"
${extras.map((key) => `      - "userextras/${key}"\n`).join('')}    verbs: ["impersonate"]
`;
}

/** https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/#constrained-impersonation */
function constrainedRules(extras: readonly string[]): string {
  const verbs = (of: readonly string[]) =>
    of.map((verb) => `      - "impersonate-on:user-info:${verb}"\n`).join('');
  return `  # Forward requests as the user who sent them, or as the user whom that user may impersonate. Never as a service
  # account, a node or a member of system:masters: requests that impersonate a service account are refused.
  - apiGroups: ["authentication.k8s.io"]
    resources:
      - "users"
      - "groups"
      - "uids"
${extras.map((key) => `      - "userextras/${key}"\n`).join('')}    verbs: ["impersonate:user-info"]
  # The requests that may be made while impersonating. Remove a verb to take it away from all users of Stonegate.
  - apiGroups: ["*"]
    resources: ["*"]
    verbs:
${verbs(RESOURCE_VERBS)}  - nonResourceURLs: ["*"]
    verbs:
${verbs(PATH_VERBS)}`;
}

function clusterRole(needs: ImpersonationNeeds): string {
  const extras = extraKeysOf(needs);
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: stonegate-impersonator
rules:
${needs.constrained ? constrainedRules(extras) : legacyRules(needs.mode, extras)}  # Ask what a person may do: exec over WebSocket, and kubectl auth can-i.
  - apiGroups: ["authorization.k8s.io"]
    resources: ["subjectaccessreviews"]
    verbs: ["create"]
${needs.tokenReview ? TOKEN_REVIEWS : ''}${needs.mode === 'arktos' ? DEFINITIONS : ''}${needs.index ? RBAC_INDEX : ''}${needs.index && needs.mode === 'arktos' ? TENANTS : ''}${policyRules(needs)}  # ${needs.mode === 'arktos' ? 'Discovery, which the API server shows to no tenant, and health.' : 'Whether the API server is there.'}
  - nonResourceURLs:
${NON_RESOURCE_URLS[needs.mode].map((url) => `      - "${url}"\n`).join('')}    verbs: [${NON_RESOURCE_VERBS[needs.mode].map((verb) => `"${verb}"`).join(', ')}]
`;
}

/** @param role the ClusterRole's name, and the binding's */
export function clusterRoleBinding(role: string, impersonator: Impersonator): string {
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: ${role}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: ${role}
subjects:
${subjectOf(impersonator)}`;
}

/** An entry of a binding's `subjects`. */
function subjectOf(impersonator: Impersonator): string {
  return impersonator.kind === 'User'
    ? `  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: ${JSON.stringify(impersonator.name)}\n`
    : `  - kind: ServiceAccount\n    namespace: "${impersonator.namespace}"\n    name: "${impersonator.name}"\n`;
}

/** A service account with its namespace and a token. */
export function serviceAccount({ namespace, name }: Impersonator & { kind: 'ServiceAccount' }): string[] {
  return [
    `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: "${namespace}"\n`,
    `apiVersion: v1
kind: ServiceAccount
metadata:
  namespace: "${namespace}"
  name: "${name}"
`,
    `# A token that does not run out, for a Stonegate outside the cluster. Inside, mount a projected token instead.
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  namespace: "${namespace}"
  name: "${name}-token"
  annotations:
    kubernetes.io/service-account.name: "${name}"
`,
  ];
}

const WARNING = {
  legacy: "A holder of this credential can act as any user: keep it as you keep an administrator's.",
  constrained:
    'A holder of this credential can act as any user but service accounts, nodes and members of system:masters.',
};

function credentialNotes({ mode, constrained }: ImpersonationNeeds, impersonator: Impersonator): string {
  const place =
    impersonator.kind === 'ServiceAccount'
      ? `# Its token:
#   kubectl -n ${impersonator.namespace} get secret ${impersonator.name}-token -o jsonpath='{.data.token}' | base64 -d
# goes into the file that upstream.credential.tokenFile names.`
      : `# Its client certificate (${mode === 'arktos' ? `subject CN=${impersonator.name}, O=tenant:system; exactly one O` : `subject CN=${impersonator.name}`}), signed by the API
# server's client CA, goes into the files that upstream.credential.certFile and keyFile name.`;
  const tenancy =
    mode === 'arktos'
      ? `# Arktos: apply as an administrator of the system tenant. Only a user of the system tenant may impersonate, and
# a client certificate says which tenant its user is of; tokens of the TokenRequest API do not.`
      : '# An ordinary Kubernetes cluster: apply as a cluster administrator.';
  return `# What Stonegate needs at the API server (tenancy mode: ${mode}).
${tenancy}
${place}
# ${WARNING[constrained ? 'constrained' : 'legacy']}`;
}

/** @returns YAML documents */
/** Read access to the ConfigMaps with the webhook's rules, each by name. */
export function configMapManifests(
  references: readonly ConfigMapReference[],
  reader: Impersonator,
): string[] {
  const namespaces = new Set(references.map(({ namespace }) => namespace));
  return [...namespaces].flatMap((namespace) => {
    const names = references.filter((reference) => reference.namespace === namespace);
    return [
      `# Read the rules of the webhook.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  namespace: "${namespace}"
  name: stonegate-webhook-rules
rules:
  - apiGroups: [""]
    resources: ["configmaps"]
    resourceNames: [${names.map(({ name }) => `"${name}"`).join(', ')}]
    verbs: ["get"]
`,
      `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  namespace: "${namespace}"
  name: stonegate-webhook-rules
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: stonegate-webhook-rules
subjects:
${subjectOf(reader)}`,
    ];
  });
}
