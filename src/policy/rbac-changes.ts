/**
 * The changes that turn the existing roles and bindings of policies into the desired ones. Pure. An object
 * without Stonegate's labels and name is not Stonegate's, and stays as it is.
 */
import { hasManagedLabel, MANAGED_BY, STONEGATE } from '../api/managed-labels.ts';
import { replaces, withDrift } from '../lib/object-drift.ts';
import { type DesiredPolicyObject, POLICY_LABELS } from './desired-rbac.ts';
import type { PolicyForm } from './policy.ts';
import type { PolicyObject } from './ports.ts';

export interface PolicyChange {
  readonly action: 'create' | 'update' | 'delete';
  readonly tenant: string;
  /** As it is to be written, or as it was read if it is to be deleted. */
  readonly object: PolicyObject;
  /** Whether it is one half of a change: what a binding refers to cannot be updated. */
  readonly isReplacement: boolean;
}

/** Selects the objects that Stonegate made from policies. */
export const POLICY_SELECTOR = `${MANAGED_BY}=${STONEGATE},${POLICY_LABELS.form}`;

/**
 * @param existing with `metadata.tenant`
 * @param forms of which the policies are known; objects of others are left as they are
 * @returns in steps: a step may begin when the one before has ended, so that no binding names a role that is
 *   not there
 */
export function policyChanges(
  desired: readonly DesiredPolicyObject[],
  existing: readonly PolicyObject[],
  forms: ReadonlySet<PolicyForm>,
): readonly (readonly PolicyChange[])[] {
  const known: ReadonlySet<string> = forms;
  const counts = ({ metadata }: PolicyObject) => known.has(metadata.labels?.[POLICY_LABELS.form] ?? '');
  const wanted = new Map(
    desired.filter(({ object }) => counts(object)).map((each) => [keyOf(each.tenant, each.object), each]),
  );
  const found = new Map(
    existing
      .filter((object) => isOurs(object) && counts(object))
      .map((object) => [keyOf(tenantOf(object), object), object]),
  );
  const stale = [...found].flatMap(([key, object]) =>
    wanted.has(key) ? [] : [changeOf('delete', tenantOf(object), object)],
  );
  const changes = [...stale, ...[...wanted].flatMap(([key, each]) => changesOf(each, found.get(key)))];
  const [bindings, roles] = [changes.filter(isOfBinding), changes.filter((change) => !isOfBinding(change))];
  const steps = [
    bindings.filter(({ action }) => action === 'delete'),
    roles.filter(({ action }) => action !== 'delete'),
    bindings.filter(({ action }) => action !== 'delete'),
    roles.filter(({ action }) => action === 'delete'),
  ];
  return steps.filter(({ length }) => length > 0);
}

function changesOf(
  { tenant, object }: DesiredPolicyObject,
  existing: PolicyObject | undefined,
): readonly PolicyChange[] {
  if (existing === undefined) return [changeOf('create', tenant, object)];
  if (replaces(object, existing))
    return [changeOf('delete', tenant, existing, true), changeOf('create', tenant, object, true)];
  const drifted = withDrift<PolicyObject>(object, existing);
  return drifted === undefined ? [] : [changeOf('update', tenant, drifted)];
}

function changeOf(
  action: PolicyChange['action'],
  tenant: string,
  object: PolicyObject,
  isReplacement = false,
): PolicyChange {
  return { action, tenant, object, isReplacement };
}

function isOfBinding({ object }: PolicyChange): boolean {
  return object.kind !== 'ClusterRole';
}

const ROLE_NAME = /^stonegate:policy:/;
const BINDING_NAME = /^stonegate-policy-[0-9a-f]{40}$/;

function isOurs({ kind, metadata }: PolicyObject): boolean {
  const form = kind === 'ClusterRole' ? ROLE_NAME : BINDING_NAME;
  return hasManagedLabel(metadata) && form.test(metadata.name);
}

function tenantOf({ metadata }: PolicyObject): string {
  return metadata.tenant ?? '';
}

function keyOf(tenant: string, { kind, metadata: { namespace = '', name } }: PolicyObject): string {
  return [kind, tenant, namespace, name].join('/');
}
