/**
 * The shapes of the specs of policy objects. The API server's schema holds them to it, but a schema can be
 * older or newer than this program: a field that is not known here may restrict what the others mean, so an
 * object with one grants nothing.
 */
import type { CrossTenantPolicy, CrossTenantSubject, TenantAdministration } from '../api/tenancy-v1alpha1.ts';
import { isExactly, isListOf, isObjectOf, isOptional, isRecordOf, isText } from '../lib/json-shape.ts';
import { isPolicyRule } from '../rbac/policy-rule.ts';

const isTexts = isListOf(isText);

const isSubject = isObjectOf<CrossTenantSubject>({
  kind: isExactly('User', 'Group'),
  tenant: isText,
  name: isText,
});

export const isCrossTenantPolicySpec = isObjectOf<CrossTenantPolicy['spec']>({
  subjects: isListOf(isSubject),
  namespaces: isTexts,
  rules: isListOf(isPolicyRule),
  notAfter: isOptional(isText),
});

export const isTenantAdministrationSpec = isObjectOf<TenantAdministration['spec']>({
  groups: isTexts,
  domain: isOptional(isText),
  tenants: isObjectOf<TenantAdministration['spec']['tenants']>({
    names: isOptional(isTexts),
    matchLabels: isOptional(isRecordOf(isText)),
    domains: isOptional(isTexts),
  }),
  clusterRole: isText,
  notAfter: isOptional(isText),
  reason: isText,
});
