/**
 * The ValidatingWebhookConfigurations of the admission webhook. Only kinds about which the webhook decides
 * are registered, and as few requests as selectors allow: what is sent cannot be written while no instance
 * responds.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
 */
import type { AdmissionProcessConfiguration } from '../../../config/configuration.ts';
import { MANAGED_BY } from '../../../kubernetes/managed-labels.ts';
import { PUBLISHED, PUBLISHED_POLICY, publishedKindsOf } from '../../../kubernetes/published-objects.ts';
import { POLICY_REGISTRATION } from '../../cross-tenant/tenancy-v1alpha1.ts';
import {
  ADMISSION_PATH,
  CHANGES,
  clusterRules,
  labelledKinds,
  namespacedRules,
  type Operation,
  publishedRules,
  type RegisteredRule,
  type ReviewedWrite,
  reviewedPolicyWrites,
  reviewedWrites,
  WRITES,
} from '../reviewed-writes.ts';

const REGISTRATION = 'stonegate-admission';

type Configuration = Pick<AdmissionProcessConfiguration, 'admission' | 'tenancy' | 'publishing'>;

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
  if (configuration.tenancy.mode === 'shared')
    return [registration(REGISTRATION, sharedHooks(configuration, place.namespace))];
  const writes = reviewedWrites(configuration);
  const hooksOf = (operation: Operation) =>
    writes.filter(({ rule }) => rule.operations.includes(operation)).map(arktosHook);
  // The CA is in each webhook, and kubectl apply stores at most 256 KiB of an object. The registration of an
  // earlier release is replaced last, so that nothing is unregistered meanwhile.
  return [
    registration(`${REGISTRATION}-delete`, hooksOf('DELETE')),
    registration(`${REGISTRATION}-update`, hooksOf('UPDATE')),
    registration(REGISTRATION, hooksOf('CREATE')),
    registration(POLICY_REGISTRATION, reviewedPolicyWrites().map(arktosHook)),
  ];
}

function registrationOf(
  name: string,
  hooks: readonly Hook[],
  caBundle: string,
  { url, namespace }: WebhookPlace,
): object {
  const serviceAt = (path: string) => ({ namespace, name: 'stonegate-admission', path, port: 443 });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: hooks.map(({ name: hook, path, rules, ...selectors }) => ({
      name: hook,
      clientConfig: {
        ...(url === undefined ? { service: serviceAt(path) } : { url: `${url}${path}` }),
        caBundle,
      },
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
  readonly path: string;
  readonly rules: readonly RegisteredRule[];
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
  readonly matchConditions?: readonly object[];
}

/**
 * Arktos reads a namespace's labels in the system tenant, so no namespace is selected, and it knows no
 * conditions.
 */
function arktosHook({ name, path, rule, onlyOwn }: ReviewedWrite): Hook {
  return { name, path, rules: [rule], ...(onlyOwn && { objectSelector: COPIES }) };
}

function sharedHooks({ admission, publishing }: Configuration, namespace: string): Hook[] {
  const ofTenants = { matchConditions: TENANTS_USERS };
  const elsewhere = { namespaceSelector: exceptIn(['kube-system', namespace]) };
  const kinds = publishedKindsOf(publishing);
  return [
    ...hooks('cluster', clusterRules(), ofTenants),
    ...hooks('objects', namespacedRules(admission.systemKinds), { ...ofTenants, ...elsewhere }),
    ...hooks('publish', publishedRules(kinds, WRITES), { matchConditions: PUBLISHES }),
    ...hooks('copies', publishedRules(labelledKinds(publishing), CHANGES), {
      objectSelector: COPIES,
      ...ofTenants,
      ...elsewhere,
    }),
  ];
}

/** None without rules. */
function hooks(
  name: string,
  rules: readonly RegisteredRule[],
  selectors: Omit<Hook, 'name' | 'path' | 'rules'>,
): Hook[] {
  if (rules.length === 0) return [];
  return [{ name: `${name}.admission.stonegate.dev`, path: ADMISSION_PATH, rules, ...selectors }];
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

/** A condition on the requests of every user: publishing needs a right. Ordinary writes are not sent. */
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
