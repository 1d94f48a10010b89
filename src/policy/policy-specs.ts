/**
 * The shapes of the specs of policy objects. The API server's schema holds them to it, but a schema can be
 * older or newer than this program: a field that is not known here may restrict what the others mean, so an
 * object with one grants nothing.
 */
import type { PolicyRule } from '../api/kubernetes-object.ts';
import type { CrossTenantPolicy, CrossTenantSubject, TenantAdministration } from '../api/tenancy-v1alpha1.ts';
import { isExactly, isListOf, isObjectOf, isOptional, isRecordOf, isText } from '../lib/json-shape.ts';

const isTexts = isListOf(isText);

const isRule = isObjectOf<PolicyRule>({
  apiGroups: isOptional(isTexts),
  resources: isOptional(isTexts),
  resourceNames: isOptional(isTexts),
  nonResourceURLs: isOptional(isTexts),
  verbs: isTexts,
});

const isSubject = isObjectOf<CrossTenantSubject>({
  kind: isExactly('User', 'Group'),
  tenant: isText,
  name: isText,
});

export const isCrossTenantPolicySpec = isObjectOf<CrossTenantPolicy['spec']>({
  subjects: isListOf(isSubject),
  namespaces: isTexts,
  rules: isListOf(isRule),
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
