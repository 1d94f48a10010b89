/**
 * The rights that Stonegate's own credential needs at the API server, each with its reason and with the
 * conditions under which it is needed. `stonegate manifests rbac`, the chart and the kustomize overlays are
 * made from this table.
 */
import type { Document } from 'yaml';
import type { ConfigMapReference } from '../config/configuration.ts';
import type { EnabledPolicies } from '../features/cross-tenant/enabled-policies.ts';
import { resourcesOfPolicies } from '../features/cross-tenant/enabled-policies.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { ORIGINAL_USER_KEY, TENANT_KEY } from '../kubernetes/reserved-names.ts';
import { KEYSTONE_EXTRA } from '../tenancy/keystone-groups.ts';
import {
  boundClusterRole,
  boundRole,
  type CommentedRule,
  manifestText,
  rule,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from './rbac-objects.ts';

type Condition = 'arktos' | 'shared' | 'tokenReview' | 'index' | 'constrained' | 'unconstrained';

interface Right extends CommentedRule {
  /** All of them must hold. */
  readonly when: readonly Condition[];
}

/** Stands for a resource `userextras/KEY` for each extra key, because RBAC has no `userextras/*`. */
const EXTRA_KEYS = 'userextras/…';

const FORWARD = 'Forward requests as the user who sent them, or as the user whom that user may impersonate.';
/** Constrained impersonation is a right on each request as well. Kubernetes removed the verb `proxy`. */
const WHILE_IMPERSONATING = (...verbs: readonly string[]) =>
  verbs.map((verb) => `impersonate-on:user-info:${verb}`);

/** https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/ */
export const RIGHTS: readonly Right[] = [
  // Arktos' service accounts belong to the system tenant; users of other tenants may not impersonate them.
  { when: ['arktos'], comment: FORWARD, rule: rule('', ['users', 'groups'], ['impersonate']) },
  {
    when: ['shared', 'unconstrained'],
    comment: FORWARD,
    rule: rule('', ['users', 'groups', 'serviceaccounts'], ['impersonate']),
  },
  { when: ['unconstrained'], rule: rule('authentication.k8s.io', ['uids', EXTRA_KEYS], ['impersonate']) },
  {
    when: ['constrained'],
    comment: `${FORWARD} Never as a service
account, a node or a member of system:masters: requests that impersonate a service account are refused.`,
    rule: rule('authentication.k8s.io', ['users', 'groups', 'uids', EXTRA_KEYS], ['impersonate:user-info']),
  },
  {
    when: ['constrained'],
    comment:
      'The requests that may be made while impersonating. Remove a verb to take it away from all users of Stonegate.',
    rule: {
      apiGroups: ['*'],
      resources: ['*'],
      verbs: WHILE_IMPERSONATING(
        ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
      ),
    },
  },
  {
    when: ['constrained'],
    rule: {
      nonResourceURLs: ['*'],
      verbs: WHILE_IMPERSONATING('get', 'head', 'options', 'post', 'put', 'patch', 'delete'),
    },
  },
  {
    when: [],
    comment: 'Ask what a person may do: exec over WebSocket, and kubectl auth can-i.',
    rule: rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  },
  {
    when: ['tokenReview'],
    comment: 'Ask whose a token is: service accounts.',
    rule: rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  },
  {
    when: ['arktos'],
    comment:
      "Which API groups are the system tenant's alone, and which it shares with every tenant: their discovery depends on it.",
    rule: rule('apiextensions.k8s.io', ['customresourcedefinitions'], ['list']),
  },
  {
    when: ['index'],
    comment: 'The RBAC index: the names of all namespaces, and what every user and service account may do.',
    rule: rule('', ['namespaces'], ['list', 'watch']),
  },
  {
    when: ['index'],
    rule: rule(
      'rbac.authorization.k8s.io',
      ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
      ['list', 'watch'],
    ),
  },
  {
    when: ['index', 'arktos'],
    comment: 'The tenant of a user, for `kubectl get tenants`.',
    rule: rule('', ['tenants'], ['get']),
  },
  {
    when: ['arktos'],
    comment: 'Discovery, which the API server shows to no tenant, and health.',
    rule: {
      nonResourceURLs: [
        ...['/api', '/api/v1', '/apis', '/apis/*', '/openapi/v2', '/openapi/v3', '/openapi/v3/*'],
        ...['/version', '/healthz', '/livez', '/readyz'],
      ],
      verbs: ['get', 'head'],
    },
  },
  {
    when: ['shared'],
    comment: 'Whether the API server is there.',
    rule: { nonResourceURLs: ['/version'], verbs: ['get'] },
  },
];

/** The extra keys that are always impersonated, and those of a condition. */
export const OWN_EXTRA_KEYS = {
  keystone: Object.values(KEYSTONE_EXTRA),
  shared: [TENANT_KEY],
  always: [ORIGINAL_USER_KEY],
};

/** What policies follow from. */
export function policyRules(policies: EnabledPolicies): PolicyRule[] {
  return resourcesOfPolicies(policies).map(({ group, resource }) =>
    rule(group, [resource], ['list', 'watch']),
  );
}

export interface ImpersonationNeeds {
  readonly mode: 'arktos' | 'shared';
  readonly keystone: boolean;
  /** Whether TokenReview is configured. */
  readonly tokenReview: boolean;
  /** Extra keys from JWT claim mappings, and of users who impersonate others. */
  readonly extraKeys: readonly string[];
  /** Whether the RBAC index is configured. */
  readonly index: boolean;
  /** Which cross-tenant policies are configured; none without it. */
  readonly policies?: EnabledPolicies;
  /** Whether only the rights of constrained impersonation are granted (Kubernetes 1.36). */
  readonly constrained: boolean;
}

export function impersonatorRules(needs: ImpersonationNeeds): CommentedRule[] {
  const { mode, keystone, tokenReview, index, policies, constrained, extraKeys } = needs;
  const given = new Set<Condition>([mode, constrained ? 'constrained' : 'unconstrained']);
  if (tokenReview) given.add('tokenReview');
  if (index) given.add('index');
  const keys = [
    ...(keystone ? OWN_EXTRA_KEYS.keystone : []),
    ...(mode === 'shared' ? OWN_EXTRA_KEYS.shared : []),
    ...OWN_EXTRA_KEYS.always,
    ...extraKeys,
  ];
  const extras = [...new Set(keys)].map((key) => `userextras/${key}`);
  const rights = RIGHTS.filter(({ when }) => when.every((condition) => given.has(condition))).map(
    ({ comment, rule }) => ({
      ...(comment !== undefined && { comment }),
      rule: rule.resources?.includes(EXTRA_KEYS)
        ? { ...rule, resources: rule.resources.flatMap((each) => (each === EXTRA_KEYS ? extras : [each])) }
        : rule,
    }),
  );
  // The RBAC index reads roles too.
  const forPolicies = (policies === undefined ? [] : policyRules(policies)).filter(
    ({ resources }) => !index || !resources?.includes('clusterroles'),
  );
  return [
    ...rights,
    ...forPolicies.map((each, at) => ({
      rule: each,
      ...(at === 0 && { comment: 'Who may enter which tenants.' }),
    })),
  ];
}

/** @returns YAML for `kubectl apply -f -` */
export function rbacManifests(needs: ImpersonationNeeds, subject: Subject): string {
  const { mode, constrained } = needs;
  const warning = constrained
    ? 'A holder of this credential can act as any user but service accounts, nodes and members of system:masters.'
    : "A holder of this credential can act as any user: keep it as you keep an administrator's.";
  return `# What Stonegate needs at the API server (tenancy mode: ${mode}).
${subjectNotes(subject, mode, 'upstream')}
# ${warning}
${manifestText([...serviceAccountDocuments(subject), ...boundClusterRole('stonegate-impersonator', impersonatorRules(needs), subject)])}`;
}

/** Read access to the ConfigMaps with the webhook's rules, each by name. */
export function configMapManifests(references: readonly ConfigMapReference[], reader: Subject): Document[] {
  return [...Map.groupBy(references, ({ namespace }) => namespace)].flatMap(([namespace, configMaps]) => {
    const resourceNames = configMaps.map(({ name }) => name);
    const read = { apiGroups: [''], resources: ['configmaps'], resourceNames, verbs: ['get'] };
    const comment = 'Read the rules of the webhook.';
    return boundRole(
      'Role',
      { namespace, name: 'stonegate-webhook-rules' },
      [{ comment, rule: read }],
      reader,
    );
  });
}
