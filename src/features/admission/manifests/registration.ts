/**
 * The ValidatingWebhookConfigurations of the admission webhook. Only kinds about which the webhook decides
 * are registered, and as few requests as selectors allow: what is sent cannot be written while no instance
 * responds.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
 */
import type { TenancyConfiguration } from '../../../config/core-configuration.ts';
import {
  exceptIn,
  type Operation,
  type RegisteredRule,
  type ReviewedWrite,
  type Webhook,
  type WebhookPlace,
  webhookConfiguration,
} from '../../../kubernetes/admissionregistration-v1.ts';
import { MANAGED_BY } from '../../../kubernetes/managed-labels.ts';
import {
  PUBLISHED,
  PUBLISHED_POLICY,
  type PublishedSelection,
  publishedKindsOf,
} from '../../../kubernetes/published-objects.ts';
import { POLICY_REGISTRATION } from '../../cross-tenant/tenancy-v1alpha1.ts';
import type { AdmissionConfiguration } from '../admission-configuration.ts';
import {
  ADMISSION_PATH,
  CHANGES,
  clusterRules,
  labelledKinds,
  namespacedRules,
  publishedRules,
  reviewedPolicyWrites,
  reviewedWrites,
  WRITES,
} from '../registered-writes.ts';

const REGISTRATION = 'stonegate-admission';

interface Configuration {
  readonly admission: AdmissionConfiguration;
  readonly tenancy: TenancyConfiguration;
  readonly publishing?: PublishedSelection;
}

/** @param caBundle PEM in base64 */
export function webhookConfigurations(
  configuration: Configuration,
  caBundle: string,
  place: WebhookPlace,
): object[] {
  const registration = (name: string, webhooks: readonly Webhook[]) =>
    webhookConfiguration({ name, webhooks, caBundle, place });
  if (!configuration.tenancy.facts.throttlesWebhooks)
    return [registration(REGISTRATION, conditionalHooks(configuration, place.namespace))];
  const writes = reviewedWrites(configuration);
  const hooksOf = (operation: Operation) =>
    writes.filter(({ rule }) => rule.operations.includes(operation)).map(unconditionalHook);
  // The CA is in each webhook, and kubectl apply stores at most 256 KiB of an object. The registration of an
  // earlier release is replaced last, so that nothing is unregistered meanwhile.
  return [
    registration(`${REGISTRATION}-delete`, hooksOf('DELETE')),
    registration(`${REGISTRATION}-update`, hooksOf('UPDATE')),
    registration(REGISTRATION, hooksOf('CREATE')),
    registration(POLICY_REGISTRATION, reviewedPolicyWrites().map(unconditionalHook)),
  ];
}

/**
 * Arktos reads a namespace's labels in the system tenant, so no namespace is selected, and it knows no
 * conditions.
 */
function unconditionalHook({ name, path, rule, onlyOwn }: ReviewedWrite): Webhook {
  return { name, path, rules: [rule], ...(onlyOwn && { objectSelector: COPIES }) };
}

function conditionalHooks({ admission, publishing }: Configuration, namespace: string): Webhook[] {
  const ofTenants = { matchConditions: TENANTS_USERS };
  const elsewhere = { namespaceSelector: { matchExpressions: [exceptIn(['kube-system', namespace])] } };
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
  selectors: Omit<Webhook, 'name' | 'path' | 'rules'>,
): Webhook[] {
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
