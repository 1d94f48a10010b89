/**
 * The registration of the webhook that decides by TenantQuotas.
 */
import {
  exceptIn,
  type Webhook,
  type WebhookPlace,
  webhookConfiguration,
} from '../../kubernetes/admissionregistration-v1.ts';
import type { ResourceKind } from '../../kubernetes/kubernetes-object.ts';
import { TENANT_KEY } from '../../kubernetes/reserved-names.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { countedRules, countedWrites, QUOTA_PATH } from './counted-writes.ts';
import { QUOTA_REGISTRATION } from './rights.ts';

export interface QuotaRegistrationOptions {
  readonly facts: Pick<TenancyFacts, 'throttlesWebhooks'>;
  readonly count: readonly ResourceKind[];
  /** PEM in base64. */
  readonly caBundle: string;
  readonly place: WebhookPlace;
}

/**
 * One webhook for all kinds selects only namespaces with the label of a tenant, and never those of the
 * cluster's control plane or of Stonegate, so that neither can lock itself out.
 */
export function quotaRegistration({ facts, count, caBundle, place }: QuotaRegistrationOptions): object {
  const ofTenants = {
    matchExpressions: [{ key: TENANT_KEY, operator: 'Exists' }, exceptIn(['kube-system', place.namespace])],
  };
  const webhooks: Webhook[] = facts.throttlesWebhooks
    ? countedWrites(count).map(({ name, path, rule }) => ({ name, path, rules: [rule] }))
    : [
        {
          name: 'quota.stonegate.dev',
          path: QUOTA_PATH,
          rules: countedRules(count),
          namespaceSelector: ofTenants,
        },
      ];
  return webhookConfiguration({ name: QUOTA_REGISTRATION, webhooks, hasEffect: true, caBundle, place });
}

export const NOT_REGISTERED = `there is no ValidatingWebhookConfiguration ${QUOTA_REGISTRATION}, so the API server asks no webhook about quotas and they limit nothing: apply the output of \`stonegate manifests admission\``;
