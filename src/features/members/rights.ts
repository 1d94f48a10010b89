/**
 * The rights of the provisioning credential that teams and invitations need: it reads them for all processes,
 * and writes them for the users who may.
 */
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { rule } from '../../kubernetes/right.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { tenantUIDRules } from '../tenant-uid-rights.ts';

export const membersRules = (facts: TenancyFacts): readonly PolicyRule[] => [
  rule(TENANCY_GROUP, ['invitations', 'teams'], ['get', 'list', 'watch', 'create', 'update', 'delete']),
  rule(TENANCY_GROUP, ['invitations/status'], ['patch']),
  ...tenantUIDRules(facts),
];
