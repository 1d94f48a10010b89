/**
 * The shapes of the specs of policy objects. The API server's schema holds them to it, but a schema can be
 * older or newer than this program: a field that is not known here may restrict what the others mean, so an
 * object with one grants nothing.
 */
import { z } from 'zod';
import { policyRuleSchema } from '../rbac/policy-rule.ts';

const texts = z.array(z.string());

const subjectSchema = z.strictObject({
  kind: z.enum(['User', 'Group']),
  tenant: z.string(),
  name: z.string(),
});

export const crossTenantPolicySpecSchema = z.strictObject({
  subjects: z.array(subjectSchema),
  namespaces: texts,
  rules: z.array(policyRuleSchema),
  notAfter: z.string().exactOptional(),
});

export const tenantAdministrationSpecSchema = z.strictObject({
  groups: texts,
  domain: z.string().exactOptional(),
  tenants: z.strictObject({
    names: texts.exactOptional(),
    matchLabels: z.record(z.string(), z.string()).exactOptional(),
    domains: texts.exactOptional(),
  }),
  clusterRole: z.string(),
  notAfter: z.string().exactOptional(),
  reason: z.string(),
});
