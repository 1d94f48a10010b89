/**
 * The ValidatingWebhookConfigurations of the admission webhook. Only kinds about which the webhook decides
 * are registered, and as few requests as selectors allow: what is sent cannot be written while no instance
 * responds.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
 */
import type { AdmissionProcessConfiguration } from '../api/config-v1alpha1.ts';
import { MANAGED_BY } from '../api/managed-labels.ts';
import {
  PUBLISHED,
  PUBLISHED_POLICY,
  type PublishedKind,
  publishedKindsOf,
  resourceName,
} from '../api/published-objects.ts';
import { POLICY_REGISTRATION, TENANCY_GROUP } from '../api/tenancy-v1alpha1.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly ['*'];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}

type Configuration = Pick<AdmissionProcessConfiguration, 'admission' | 'tenancy' | 'publishing'>;
type Mode = Configuration['tenancy']['mode'];

/** Where API servers reach the webhook: at the address, or the Service in the namespace. */
export interface WebhookPlace {
  readonly url?: string;
  readonly namespace: string;
}

/** @param caBundle PEM in base64 */
export function webhookConfigurations(
  configuration: Configuration,
  caBundle: string,
  place: WebhookPlace,
): object[] {
  const registration = (name: string, hooks: readonly Hook[]) => registrationOf(name, hooks, caBundle, place);
  return configuration.tenancy.mode === 'arktos'
    ? [
        registration('stonegate-admission', arktosHooks(configuration)),
        registration(POLICY_REGISTRATION, [POLICIES]),
      ]
    : [registration('stonegate-admission', sharedHooks(configuration, place.namespace))];
}

function registrationOf(
  name: string,
  hooks: readonly Hook[],
  caBundle: string,
  { url, namespace }: WebhookPlace,
): object {
  const service = { namespace, name: 'stonegate-admission', path: '/admission', port: 443 };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: hooks.map(({ name: hook, rules, ...selectors }) => ({
      name: `${hook}.admission.stonegate.dev`,
      clientConfig: { ...(url === undefined ? { service } : { url: `${url}/admission` }), caBundle },
      rules,
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      timeoutSeconds: 5,
      admissionReviewVersions: ['v1', 'v1beta1'],
      ...selectors,
    })),
  };
}

interface Hook {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
  readonly matchConditions?: readonly object[];
}

/**
 * Arktos reads a namespace's labels in the system tenant, so no namespace is selected, and it knows no
 * conditions.
 */
function arktosHooks({ admission, publishing }: Configuration): Hook[] {
  const kinds = publishedKindsOf(publishing);
  return [
    {
      name: 'tenants',
      rules: [...clusterRules('arktos'), ...namespacedRules(admission.systemKinds, 'arktos')],
    },
    ...hooks('published', publishedRules(kinds.filter(isOfOtherGroup), WRITES), {}),
    ...hooks('copies', publishedRules(kinds.filter(isOfOtherGroup), ['DELETE']), { objectSelector: COPIES }),
  ];
}

function sharedHooks({ admission, publishing }: Configuration, namespace: string): Hook[] {
  const ofTenants = { matchConditions: TENANTS_USERS };
  const elsewhere = { namespaceSelector: exceptIn(['kube-system', namespace]) };
  const kinds = publishedKindsOf(publishing);
  return [
    { name: 'cluster', rules: clusterRules('shared'), ...ofTenants },
    { name: 'objects', rules: namespacedRules(admission.systemKinds, 'shared'), ...ofTenants, ...elsewhere },
    ...hooks('publish', publishedRules(kinds, WRITES), { matchConditions: PUBLISHES }),
    ...hooks('copies', publishedRules(kinds.filter(isOfOtherGroup), CHANGES), {
      objectSelector: COPIES,
      ...ofTenants,
      ...elsewhere,
    }),
  ];
}

/** CrossTenantPolicies count only if they are registered without any selector. */
const POLICIES: Hook = {
  name: 'policies',
  rules: [rule(TENANCY_GROUP, ['crosstenantpolicies', 'crosstenantpolicies/status'], ['CREATE', 'UPDATE'])],
};

/** None without rules. */
function hooks(name: string, rules: readonly Rule[], selectors: Omit<Hook, 'name' | 'rules'>): Hook[] {
  return rules.length === 0 ? [] : [{ name, rules, ...selectors }];
}

/** All others are allowed in any case: so the cluster's own components never depend on the webhook. */
const TENANTS_USERS = [
  {
    name: 'users-of-tenants',
    expression:
      '(has(request.userInfo.groups) && request.userInfo.groups.exists(g, g.startsWith("stonegate:tenant:"))) || (request.userInfo.username.startsWith("system:serviceaccount:") && !request.userInfo.username.startsWith("system:serviceaccount:kube-system:"))',
  },
];

/** What an annotation says in CEL, so that an absent one differs from an empty one. */
const valueIn = (object: string): string =>
  `(${object} != null && has(${object}.metadata.annotations) && key in ${object}.metadata.annotations ? "=" + ${object}.metadata.annotations[key] : "")`;

/** Of every user: publishing needs a right. Ordinary writes are not sent. */
const PUBLISHES = [
  {
    name: 'changes-what-is-published',
    expression: `${JSON.stringify([PUBLISHED, PUBLISHED_POLICY])}.exists(key, ${valueIn('object')} != ${valueIn('oldObject')})`,
  },
];

/** The label of every object that Stonegate writes. */
const COPIES = { matchExpressions: [{ key: MANAGED_BY, operator: 'Exists' }] };

function exceptIn(namespaces: readonly string[]): object {
  const expression = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: namespaces };
  return { matchExpressions: [expression] };
}

const WRITES = ['CREATE', 'UPDATE'] as const;
const CHANGES = [...WRITES, 'DELETE'] as const;

function rule(group: string, resources: readonly string[], operations: Rule['operations']): Rule {
  return { apiGroups: [group], apiVersions: ['*'], resources, operations };
}

const RBAC = 'rbac.authorization.k8s.io';
const DEFINITIONS = 'customresourcedefinitions';

/** Of no namespace, and namespaces themselves. */
function clusterRules(mode: Mode): Rule[] {
  return [
    rule('', ['namespaces', 'namespaces/status', 'namespaces/finalize'], CHANGES),
    rule('', mode === 'arktos' ? ['nodes', 'tenants'] : ['nodes'], CHANGES),
    ...(mode === 'arktos' ? [rule('', ['tenants/status', 'tenants/finalize'], ['UPDATE'])] : []),
    rule('', ['persistentvolumes'], WRITES),
    rule('apiextensions.k8s.io', [DEFINITIONS], WRITES),
    rule(RBAC, ['clusterroles', 'clusterrolebindings'], CHANGES),
  ];
}

function namespacedRules(systemKinds: readonly string[], mode: Mode): Rule[] {
  const workloads = ['deployments', 'replicasets', 'daemonsets'];
  return [
    rule('', ['pods', 'pods/ephemeralcontainers', 'pods/resize'], WRITES),
    rule('', ['pods/binding', 'bindings'], ['CREATE']),
    rule('', ['podtemplates', 'replicationcontrollers'], WRITES),
    rule('apps', [...workloads, 'statefulsets'], WRITES),
    ...(mode === 'arktos' ? [rule('extensions', workloads, WRITES)] : []),
    rule('batch', ['jobs', 'cronjobs'], WRITES),
    rule(RBAC, ['roles', 'rolebindings'], CHANGES),
    ...systemKinds.map((kind) => {
      const [resource = '', ...group] = kind.split('.');
      return rule(group.join('.'), [resource], WRITES);
    }),
  ];
}

/** Changes of RBAC kinds are registered above, whatever is published. */
const isOfOtherGroup = ({ group }: PublishedKind): boolean => group !== RBAC;

/** Subresources through which the metadata of an object changes; of configured kinds they are not known. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set([
  'configmaps',
  'limitranges',
  'networkpolicies.networking.k8s.io',
  'secrets',
  'serviceaccounts',
]);

/** One rule for each group. */
function publishedRules(kinds: readonly PublishedKind[], operations: Rule['operations']): Rule[] {
  const groups = Map.groupBy(kinds, ({ group }) => group);
  return [...groups].map(([group, of]) => {
    const resources = of.flatMap((kind) => {
      const hasStatus = kind.group !== RBAC && !WITHOUT_STATUS.has(resourceName(kind));
      return [kind.resource, ...(hasStatus ? [`${kind.resource}/status`] : [])];
    });
    return rule(group, [...new Set(resources)], operations);
  });
}
