/**
 * The rights that Stonegate's own credential needs at the API server, each with its reason and with the
 * conditions under which it is needed. `stonegate manifests rbac`, the chart and the kustomize overlays are
 * made from this table.
 */
import type { Document } from 'yaml';
import type { ConfigMapReference } from '../config/configuration.ts';
import type { EnabledPolicies } from '../features/cross-tenant/enabled-policies.ts';
import { policyReadRights } from '../features/cross-tenant/rights.ts';
import { DISCOVERY_RIGHTS } from '../features/discovery/rights.ts';
import { OWN_TENANT_RIGHTS } from '../features/own-tenant/rights.ts';
import { QUOTA_READ_RIGHTS } from '../features/quota/rights.ts';
import { RBAC_INDEX_RIGHTS } from '../features/rbac-index/rights.ts';
import { ORIGINAL_USER_KEY, TENANT_KEY } from '../kubernetes/reserved-names.ts';
import { type Condition, type Right, rule } from '../kubernetes/right.ts';
import { KEYSTONE_EXTRA } from '../tenancy/keystone-groups.ts';
import {
  boundClusterRole,
  boundRole,
  manifestText,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from './rbac-objects.ts';

/** Stands for a resource `userextras/KEY` for each extra key, because RBAC has no `userextras/*`. */
const EXTRA_KEYS = 'userextras/…';

const FORWARD = 'Forward requests as the user who sent them, or as a user that the sender may impersonate.';
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
    consequence: 'exec over WebSocket and `kubectl auth can-i` fail',
    rule: rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  },
  {
    when: ['tokenReview'],
    comment: 'Ask whose a token is: service accounts.',
    consequence: 'no service account can authenticate',
    rule: rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  },
  ...DISCOVERY_RIGHTS,
  ...RBAC_INDEX_RIGHTS,
  ...OWN_TENANT_RIGHTS,
  ...QUOTA_READ_RIGHTS,
];

/** The extra keys that are always impersonated, and those of a condition. */
export const OWN_EXTRA_KEYS = {
  keystone: Object.values(KEYSTONE_EXTRA),
  shared: [TENANT_KEY],
  always: [ORIGINAL_USER_KEY],
};

export interface ImpersonationNeeds {
  readonly mode: 'arktos' | 'shared';
  /** A part of the role's name; empty by default. */
  readonly suffix?: string;
  readonly keystone: boolean;
  /** Whether TokenReview is configured. */
  readonly tokenReview?: boolean;
  /** Extra keys from JWT claim mappings, and of users who impersonate others. */
  readonly extraKeys: readonly string[];
  /** Whether the RBAC index is configured. */
  readonly index?: boolean;
  /** Whether tenants have quotas. */
  readonly quota?: boolean;
  /** Which cross-tenant policies are configured; none without it. */
  readonly policies?: EnabledPolicies;
  /** Whether only the rights of constrained impersonation are granted (Kubernetes 1.36). */
  readonly constrained?: boolean;
}

/** What `ImpersonationNeeds` ask for. */
export function impersonatorRights(needs: ImpersonationNeeds): Right[] {
  const { mode, keystone, tokenReview, index, quota, policies, constrained, extraKeys } = needs;
  const given = new Set<Condition>([mode, constrained ? 'constrained' : 'unconstrained']);
  if (tokenReview) given.add('tokenReview');
  if (index) given.add('index');
  if (quota) given.add('quota');
  const keys = [
    ...(keystone ? OWN_EXTRA_KEYS.keystone : []),
    ...(mode === 'shared' ? OWN_EXTRA_KEYS.shared : []),
    ...OWN_EXTRA_KEYS.always,
    ...extraKeys,
  ];
  const extras = [...new Set(keys)].map((key) => `userextras/${key}`);
  const rights = RIGHTS.filter(({ when }) => when.every((condition) => given.has(condition))).map((right) => {
    const { rule } = right;
    if (!rule.resources?.includes(EXTRA_KEYS)) return right;
    const resources = rule.resources.flatMap((each) => (each === EXTRA_KEYS ? extras : [each]));
    return { ...right, rule: { ...rule, resources } };
  });
  // The RBAC index reads roles too.
  const forPolicies = (policies === undefined ? [] : policyReadRights(policies)).filter(
    ({ rule }) => !index || !rule.resources?.includes('clusterroles'),
  );
  return [...rights, ...forPolicies];
}

/** @returns YAML for `kubectl apply -f -` */
export function rbacManifests(needs: ImpersonationNeeds, subject: Subject): string {
  const { mode, constrained, suffix = '' } = needs;
  const warning = constrained
    ? 'A holder of this credential can act as any user but service accounts, nodes and members of system:masters.'
    : "A holder of this credential can act as any user: keep it as you keep an administrator's.";
  return `# What Stonegate needs at the API server (tenancy mode: ${mode}).
${subjectNotes(subject, mode, 'upstream')}
# ${warning}
${manifestText([...serviceAccountDocuments(subject), ...boundClusterRole(`stonegate-impersonator${suffix}`, impersonatorRights(needs), subject)])}`;
}

interface ConfigMapNeeds {
  /** The ConfigMaps with the webhook's rules. */
  readonly configMaps: readonly ConfigMapReference[];
  readonly suffix?: string;
}

/** Read access to the ConfigMaps with the webhook's rules, each by name. */
export function configMapManifests(
  { configMaps: references, suffix = '' }: ConfigMapNeeds,
  reader: Subject,
): Document[] {
  return [...Map.groupBy(references, ({ namespace }) => namespace)].flatMap(([namespace, configMaps]) => {
    const resourceNames = configMaps.map(({ name }) => name);
    const read = { apiGroups: [''], resources: ['configmaps'], resourceNames, verbs: ['get'] };
    const comment = 'Read the rules of the webhook.';
    return boundRole(
      'Role',
      { namespace, name: `stonegate-webhook-rules${suffix}` },
      [{ comment, rule: read }],
      reader,
    );
  });
}
