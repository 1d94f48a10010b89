/**
 * ValidatingWebhookConfigurations of `admissionregistration.k8s.io/v1`, as far as Stonegate's webhooks need
 * them.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
 */
import type { ResourceKind } from './kubernetes-object.ts';

export const VALIDATING_WEBHOOKS: ResourceKind = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE';

/** https://pkg.go.dev/k8s.io/api/admissionregistration/v1#RuleWithOperations */
export interface RegisteredRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly ['*'];
  readonly resources: readonly string[];
  readonly operations: readonly Operation[];
}

export function registeredRule(
  group: string,
  resources: readonly string[],
  operations: readonly Operation[],
): RegisteredRule {
  return { apiGroups: [group], apiVersions: ['*'], resources, operations };
}

/** The writes of one kind, or of a subresource of it, that are reviewed at a URL of their own (Arktos). */
export interface ReviewedWrite {
  /** Unique; a DNS subdomain. */
  readonly name: string;
  readonly path: string;
  readonly rule: RegisteredRule;
  /** Whether only what happens to objects with Stonegate's label is reviewed. */
  readonly onlyOwn: boolean;
}

export interface Webhook {
  readonly name: string;
  readonly path: string;
  readonly rules: readonly RegisteredRule[];
  readonly namespaceSelector?: object;
  readonly objectSelector?: object;
  readonly matchConditions?: readonly object[];
}

/** Where API servers reach the webhook: at the address, or the Service in the namespace. */
export interface WebhookPlace {
  readonly url?: string;
  readonly namespace: string;
}

export interface RegistrationOptions {
  readonly name: string;
  readonly webhooks: readonly Webhook[];
  /** Whether a review changes something; that of a dry run never does. */
  readonly hasEffect?: boolean;
  /** PEM in base64. */
  readonly caBundle: string;
  readonly place: WebhookPlace;
}

/** What is sent to the webhook cannot be written while no instance of it responds. */
export function webhookConfiguration(options: RegistrationOptions): object {
  const { name, webhooks, hasEffect = false, caBundle, place } = options;
  const { url, namespace } = place;
  const serviceAt = (path: string) => ({ namespace, name: 'stonegate-admission', path, port: 443 });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: webhooks.map(({ name: webhook, path, rules, ...selectors }) => ({
      name: webhook,
      clientConfig: {
        ...(url === undefined ? { service: serviceAt(path) } : { url: `${url}${path}` }),
        caBundle,
      },
      rules,
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      sideEffects: hasEffect ? 'NoneOnDryRun' : 'None',
      timeoutSeconds: 5,
      admissionReviewVersions: ['v1', 'v1beta1'],
      ...selectors,
    })),
  };
}

/** Selects the namespaces with other names. */
export function exceptIn(namespaces: readonly string[]) {
  return { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: namespaces };
}
