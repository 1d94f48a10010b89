/**
 * `stonegate manifests rbac --provisioner`: the rights of the credential that provisions, publishes and
 * creates the roles of policies. It never has `escalate`, which would let it create any role.
 */
import {
  boundClusterRole,
  manifestText,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from '../../cli/rbac-objects.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import { withoutCovered } from '../../kubernetes/right.ts';
import { DEFINITIONS, type StonegateConfiguration } from '../configuration.ts';

/** The rules of the ClusterRole. */
export function provisionerRules(configuration: StonegateConfiguration): PolicyRule[] {
  const rules = DEFINITIONS.flatMap((feature) => feature.provisionerRules?.(configuration) ?? []);
  return withoutCovered(rules.map((rule) => ({ rule }))).map(({ rule }) => rule);
}

/** @returns YAML for `kubectl apply -f -` */
export function provisionerManifests(
  configuration: StonegateConfiguration,
  subject: Subject,
  suffix: string,
): string {
  const { mode, facts } = configuration.tenancy;
  const rules = provisionerRules(configuration);
  const held = configuration.bindings.createRoles
    ? `# It holds what it grants: the rules of stonegate:manage and the like. Where an administrator keeps these roles
# (bindings.createRoles: false) it may only bind them.`
    : `# It may bind the roles that the configuration names, and create none${rules.some(createsClusterRoles) ? ' but those of policies, whose rules it holds' : ''}.`;
  return `# What Stonegate needs at the API server for provisioning (tenancy mode: ${mode}).
${subjectNotes(subject, facts, 'bindings')}
${held}
# The holder of this credential can grant itself these rights in every namespace: keep it as you keep an administrator's.
${manifestText([
  ...serviceAccountDocuments(subject),
  ...boundClusterRole(
    `stonegate-provisioner${suffix}`,
    rules.map((rule) => ({ rule })),
    subject,
  ),
])}`;
}

function createsClusterRoles({ resources = [], verbs }: PolicyRule): boolean {
  return resources.includes('clusterroles') && verbs.includes('create');
}
