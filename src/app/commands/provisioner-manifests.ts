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
import type { GroupResource } from '../../kubernetes/meta-v1.ts';
import {
  type ConfigurationPath,
  neededOf,
  type ProvisionerRight,
  valuesAt,
  withoutCovered,
} from '../../kubernetes/right.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { grantableRules } from '../../rbac/grantable-rules.ts';
import { DEFINITIONS, type StonegateConfiguration } from '../configuration.ts';

export const PROVISIONER_RIGHTS = DEFINITIONS.flatMap(({ provisionerRights = [] }) => provisionerRights);

/** The rules of the ClusterRole. */
export function provisionerRules(configuration: StonegateConfiguration): PolicyRule[] {
  const rules = neededOf(PROVISIONER_RIGHTS, { ...configuration, ...configuration.tenancy.facts }).flatMap(
    (right) => completed(right, configuration),
  );
  return withoutCovered(rules.map((rule) => ({ rule }))).map(({ rule }) => rule);
}

/** The rules of a right, with the names that the configuration has. */
function completed(right: ProvisionerRight, configuration: StonegateConfiguration): readonly PolicyRule[] {
  const valuesOf = (paths: readonly ConfigurationPath[]) =>
    paths.flatMap((path) => valuesAt(configuration, path));
  if ('grants' in right) return grantableRules(configuration.access.grantable);
  if ('kinds' in right) {
    const all = [...right.kinds, ...valuesOf(right.kindsAt).filter(isKind)];
    const byGroup = Map.groupBy(all, ({ group }) => group);
    return [...byGroup].map(([group, kinds]) => ({
      apiGroups: [group],
      resources: sorted(kinds.map(({ resource }) => resource)),
      verbs: right.verbs,
    }));
  }
  const { rule, namesAt, except = [] } = right;
  if (namesAt === undefined) return [rule];
  const further = valuesOf(namesAt).filter((name) => typeof name === 'string');
  const names = [...(rule.resourceNames ?? []), ...further].filter((name) => !except.includes(name));
  return names.length === 0 ? [] : [{ ...rule, resourceNames: sorted(names) }];
}

function isKind(value: unknown): value is GroupResource {
  return isJSONObject(value) && typeof value.group === 'string' && typeof value.resource === 'string';
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
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
