/**
 * Reads the objects from which policies follow out of the API server's JSON. The policies' own code
 * validates a spec and reports to its author.
 */

import { z } from 'zod';
import { TENANCY_API_VERSION, TENANCY_GROUP, TENANCY_VERSION } from '../../kubernetes/custom-resource.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { clusterRoleIn, isMeta } from '../../kubernetes/object-format.ts';
import { parseTimestamp } from '../../lib/go-time.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import type { TenantFacts, WebhookRegistration } from './policy.ts';
import {
  type CrossTenantPolicy,
  POLICY_REGISTRATION,
  type TenantAdministration,
} from './tenancy-v1alpha1.ts';

const OWN_ROLES = 'stonegate:';

/** @returns undefined for what is no object of the kind, as for the other kinds */
export function readCrossTenantPolicy(value: unknown): CrossTenantPolicy | undefined {
  return isOfKind<CrossTenantPolicy>(value, 'CrossTenantPolicy') ? value : undefined;
}

export function readTenantAdministration(value: unknown): TenantAdministration | undefined {
  return isOfKind<TenantAdministration>(value, 'TenantAdministration') ? value : undefined;
}

/**
 * Leaves out Stonegate's own roles, to which no administration refers: tenants cause them by the names of
 * their policies, and could fill the store so that the operator's roles have no room.
 */
export function readClusterRole(value: unknown): readonly [string, readonly PolicyRule[]] | undefined {
  const role = clusterRoleIn(value);
  return role === undefined || role.name.startsWith(OWN_ROLES) ? undefined : [role.name, role.rules];
}

/** A tenant that is being deleted is none: nothing can be written there. */
export function readTenant(value: unknown): TenantFacts | undefined {
  if (!isJSONObject(value) || !isMeta(value.metadata)) return undefined;
  const { name, labels = {}, deletionTimestamp } = value.metadata;
  return deletionTimestamp === undefined ? { name, labels } : undefined;
}

const texts = z.array(z.string());
const selectsAll = z.strictObject({}).optional();
/** A webhook without whose consent nothing is written that one of its rules covers. */
const strictWebhookSchema = z.object({
  failurePolicy: z.literal('Fail'),
  namespaceSelector: selectsAll,
  objectSelector: selectsAll,
  matchConditions: z.tuple([]).optional(),
  rules: z.array(
    z.object({
      operations: texts,
      apiGroups: texts,
      apiVersions: texts,
      resources: texts,
      scope: z.string().default('*'),
    }),
  ),
});
type WebhookRule = z.output<typeof strictWebhookSchema>['rules'][number];

/** @returns undefined for a configuration that is not Stonegate's too */
export function readRegistration(value: unknown): WebhookRegistration | undefined {
  if (!isJSONObject(value) || !isMeta(value.metadata) || value.metadata.name !== POLICY_REGISTRATION)
    return undefined;
  const { webhooks, metadata } = value;
  const since = parseTimestamp(metadata.creationTimestamp ?? '');
  const rules = (Array.isArray(webhooks) ? webhooks : []).flatMap(
    (webhook) => strictWebhookSchema.safeParse(webhook).data?.rules ?? [],
  );
  const checks = ['CREATE', 'UPDATE'].every((operation) => rules.some((rule) => covers(rule, operation)));
  return checks && since !== undefined ? { registered: true, since } : { registered: false };
}

function isOfKind<T extends CrossTenantPolicy | TenantAdministration>(
  value: unknown,
  kind: T['kind'],
): value is T {
  return (
    isJSONObject(value) &&
    value.apiVersion === TENANCY_API_VERSION &&
    value.kind === kind &&
    isMeta(value.metadata)
  );
}

function covers(
  { operations, apiGroups, apiVersions, resources, scope }: WebhookRule,
  operation: string,
): boolean {
  const names = (list: readonly string[], name: string) => list.includes(name) || list.includes('*');
  return (
    scope === '*' &&
    names(operations, operation) &&
    names(apiGroups, TENANCY_GROUP) &&
    names(apiVersions, TENANCY_VERSION) &&
    (names(resources, 'crosstenantpolicies') || resources.includes('*/*'))
  );
}
