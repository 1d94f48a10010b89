/**
 * The rights of `stonegate manifests rbac` with what they depend on, for the chart's templates, which cannot
 * run Stonegate.
 */

import { PROVISIONER_RIGHTS } from '../src/app/commands/provisioner-manifests.ts';
import { OWN_EXTRA_KEYS, RIGHTS } from '../src/app/commands/rbac-manifests.ts';
import { DEFINITIONS, defaultConfiguration } from '../src/app/configuration.ts';
import {
  TENANT_KINDS,
  UNPUBLISHED_GROUPS,
  UNPUBLISHED_RESOURCES,
} from '../src/kubernetes/published-objects.ts';
import { CREDENTIAL_ID_KEY } from '../src/kubernetes/reserved-names.ts';
import { holdAll, type ProvisionerRight } from '../src/kubernetes/right.ts';
import { fieldAt } from '../src/lib/json-object.ts';
import { ESCALATING_VERBS } from '../src/rbac/escalating.ts';
import { grantableRules, NEVER_GROUPS } from '../src/rbac/grantable-rules.ts';
import { TENANCY_FACTS } from '../src/tenancy/facts.ts';

export const CHART_RBAC = 'config/charts/stonegate/files/rbac.json';

/** The text of the chart's file: rights by what they depend on, and the names that templates compare. */
export function chartRBAC(): string {
  const content = {
    /** The facts of each tenancy mode, which conditions of rights name. */
    facts: TENANCY_FACTS,
    /** The defaults of fields that rights depend on, since a configuration may leave these fields out. */
    defaults: defaults(),
    impersonator: RIGHTS.map(({ when, rule }) => ({ when, rule })),
    extraKeys: { ...OWN_EXTRA_KEYS, jwt: [CREDENTIAL_ID_KEY] },
    /** By feature, the paths at which the configuration names ConfigMaps with its rules. */
    ruleConfigMaps: Object.fromEntries(
      DEFINITIONS.flatMap(({ name, ruleConfigMaps }) => (ruleConfigMaps ? [[name, ruleConfigMaps]] : [])),
    ),
    provisioner: PROVISIONER_RIGHTS.map(namedKinds),
    /** The conditions under which another feature than provisioning writes at the API server. */
    writes: distinct(
      DEFINITIONS.filter(({ name }) => name !== 'bindings').flatMap(({ provisionerRights = [] }) =>
        provisionerRights.map(({ when }) => when),
      ),
    ),
    /** The conditions under which custom resources are stored. */
    stores: distinct(
      DEFINITIONS.flatMap(({ storedKinds = [] }) => storedKinds).map(({ modes = [], when }) => [
        ...modes,
        ...when,
      ]),
    ),
    grantable: grantableRules([]),
    notGrantable: { groups: [...NEVER_GROUPS], verbs: [...ESCALATING_VERBS] },
    /** Kinds that may be named by their resource alone, with their groups. */
    shortKinds: Object.fromEntries(TENANT_KINDS.map(({ resource, group }) => [resource, group])),
    notPublished: { groups: [...UNPUBLISHED_GROUPS], resources: [...UNPUBLISHED_RESOURCES] },
  };
  const lines = Object.entries(content).map(([key, value]) => `  "${key}": ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

function defaults(): Record<string, unknown> {
  const configuration = defaultConfiguration({ tenancy: { mode: 'shared' } });
  const paths = [...RIGHTS, ...PROVISIONER_RIGHTS].flatMap((right) => [
    ...right.when.map((condition) => condition.replace('!', '')),
    ...('namesAt' in right && right.namesAt !== undefined ? right.namesAt : []),
    ...('kindsAt' in right ? right.kindsAt : []),
  ]);
  const fields = distinct(paths.map((path) => path.split('.').slice(0, 2)));
  return Object.fromEntries(
    fields
      .filter((field) => field.length === 2 && holdAll([field.join('.')], configuration))
      .map((field) => [field.join('.'), fieldAt(configuration, ...field)]),
  );
}

function namedKinds(right: ProvisionerRight): object {
  if (!('kinds' in right)) return right;
  return { ...right, kinds: right.kinds.map(({ group, resource }) => ({ group, resource })) };
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}
