/**
 * `stonegate manifests rbac --provisioner`: the rights of the credential that provisions, publishes and
 * creates the roles of policies. It never has `escalate`, which would let it create any role.
 */

import { type ProvisioningNeeds, provisioningRules } from '../features/bindings/rights.ts';
import { policyWriteRules } from '../features/cross-tenant/rights.ts';
import { membersRules } from '../features/members/rights.ts';
import { type PublishingNeeds, publishingRules } from '../features/publishing/rights.ts';
import { quotaRules } from '../features/quota/rights.ts';
import { tokenRules } from '../features/tokens/rights.ts';
import type { PolicyRule, ResourceKind } from '../kubernetes/kubernetes-object.ts';
import {
  boundClusterRole,
  manifestText,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from './rbac-objects.ts';

export interface ProvisionerNeeds extends ProvisioningNeeds {
  /** What policies may grant besides `stonegate:manage`; undefined without cross-tenant policies. */
  readonly grantable?: readonly PolicyRule[] | undefined;
  /** Undefined if nothing is published. */
  readonly publishing?: PublishingNeeds | undefined;
  /** Further kinds that quotas count; undefined without quotas. */
  readonly countedKinds?: readonly ResourceKind[] | undefined;
  /** Whether there are access tokens. */
  readonly tokens?: boolean;
  /** Whether there are teams and invitations. */
  readonly members?: boolean;
  /** A part of the role's name; empty by default. */
  readonly suffix?: string;
}

/** The rules of the ClusterRole. */
export function provisionerRules({
  grantable,
  publishing,
  countedKinds,
  tokens = false,
  members = false,
  ...needs
}: ProvisionerNeeds): PolicyRule[] {
  return withoutCovered([
    ...provisioningRules(needs),
    ...(grantable ? policyWriteRules(grantable) : []),
    ...(publishing ? publishingRules(needs.mode, publishing) : []),
    ...(countedKinds ? quotaRules(countedKinds) : []),
    ...(tokens ? tokenRules(needs.mode) : []),
    ...(members ? membersRules(needs.mode) : []),
  ]);
}

/** Drops rules that another rule includes, so that every printed rule is needed. */
function withoutCovered(rules: readonly PolicyRule[]): PolicyRule[] {
  return rules.filter(
    (rule, index) =>
      !rules.some(
        (other, place) =>
          place !== index && includes(other, rule) && (place < index || !includes(rule, other)),
      ),
  );
}

function includes(larger: PolicyRule, smaller: PolicyRule): boolean {
  return (
    contains(larger.apiGroups, smaller.apiGroups) &&
    contains(larger.resources, smaller.resources) &&
    contains(larger.verbs, smaller.verbs) &&
    (larger.resourceNames === undefined || contains(larger.resourceNames, smaller.resourceNames))
  );
}

function contains(all: readonly string[] = [], some: readonly string[] | undefined): boolean {
  return some?.every((each) => all.includes(each)) ?? false;
}

/** @returns YAML for `kubectl apply -f -` */
export function provisionerManifests(needs: ProvisionerNeeds, subject: Subject): string {
  const { mode, createRoles, grantable, suffix = '' } = needs;
  const held = createRoles
    ? `# It holds what it grants: the rules of stonegate:manage and the like. Where an administrator keeps these roles
# (bindings.createRoles: false) it may only bind them.`
    : `# It may bind the roles that the configuration names, and create none${grantable === undefined ? '' : ' but those of policies, whose rules it holds'}.`;
  const rules = provisionerRules(needs).map((each) => ({ rule: each }));
  return `# What Stonegate needs at the API server for provisioning (tenancy mode: ${mode}).
${subjectNotes(subject, mode, 'bindings')}
${held}
# The holder of this credential can grant itself these rights in every namespace: keep it as you keep an administrator's.
${manifestText([...serviceAccountDocuments(subject), ...boundClusterRole(`stonegate-provisioner${suffix}`, rules, subject)])}`;
}
