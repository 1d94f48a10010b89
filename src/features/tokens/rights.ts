/**
 * The rights of the provisioner at the API server that access tokens need.
 */
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { rule } from '../../kubernetes/right.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { tenantUIDRules } from '../tenant-uid-rights.ts';
import { STORED_TOKENS } from './access-token-v1alpha1.ts';

const { group, resource } = STORED_TOKENS;

export const tokenRules = (facts: TenancyFacts): readonly PolicyRule[] => [
  rule(group, [resource], ['get', 'list', 'watch', 'create', 'update', 'delete']),
  rule(group, [`${resource}/status`], ['patch']),
  ...tenantUIDRules(facts),
];
