/**
 * The role that a binding gives, and the right that its author needs on Arktos: `bind` on that role in the
 * tenant. The proxy and the admission webhook read it alike; docs/bindings.md says why Arktos' own check is
 * not enough.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { fieldOf, malformed, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import { ObjectReader } from './object-reader.ts';
import type { Right } from './ports.ts';
import type { RequiredAccess } from './required-access.ts';
import type { Violation } from './violation.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
const RESOURCES: ReadonlySet<string> = new Set(['rolebindings', 'clusterrolebindings']);
/** Made by Arktos' tenant controller in each new tenant. */
const FIRST_BINDING = {
  user: 'system:serviceaccount:kube-system:tenant-controller',
  name: 'admin-role-binding',
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'admin-role' },
  subjects: [{ apiGroup: RBAC_GROUP, kind: 'User', name: 'admin' }],
};

export interface GivenRole {
  readonly kind: 'Role' | 'ClusterRole';
  readonly name: string;
}

export function isBinding(group: string, resource: string): boolean {
  return group === RBAC_GROUP && RESOURCES.has(resource);
}

/** @throws StatusError BodyMalformed if it could be read as another role, or as none */
export function roleRefOf(binding: JSONObject): GivenRole {
  const reference = objectOf(fieldOf(binding, 'roleRef'), 'roleRef');
  const [kind, name] = [textOf(reference, 'kind'), textOf(reference, 'name')];
  const group = textOf(reference, 'apiGroup');
  if (group !== RBAC_GROUP && group !== '') throw malformed(`roleRef.apiGroup is not ${RBAC_GROUP}`);
  if (kind !== 'Role' && kind !== 'ClusterRole')
    throw malformed('roleRef.kind is neither Role nor ClusterRole');
  if (!isRoleName(name)) throw malformed('roleRef.name is no name of a role');
  return { kind, name };
}

/** What may be one segment of a path, as RBAC demands of names. */
function isRoleName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name);
}

export interface BindRight extends Right {
  readonly verb: 'bind';
  readonly group: typeof RBAC_GROUP;
  readonly version: string;
  readonly resource: 'roles' | 'clusterroles';
  readonly name: string;
}

/** @param namespace of the binding; empty for one in the whole tenant */
export function bindRight({ kind, name }: GivenRole, version: string, namespace: string): BindRight {
  const resource = kind === 'Role' ? 'roles' : 'clusterroles';
  return { verb: 'bind', group: RBAC_GROUP, version, resource, name, ...(namespace !== '' && { namespace }) };
}

/**
 * What the webhook requires of a tenant's user who writes a binding. Arktos has compared it with the system
 * tenant's role by then.
 *
 * @param request about a binding
 */
export function requiredToBind({
  operation,
  user,
  version,
  namespace,
  object,
  oldObject,
}: AdmissionRequest): {
  readonly violations: readonly Violation[];
  readonly required: readonly RequiredAccess[];
} {
  const none = { violations: [], required: [] };
  if (operation !== 'CREATE' && operation !== 'UPDATE') return none;
  const binding = new ObjectReader(object, '', []);
  const grants = ['roleRef', 'subjects'];
  const old = new ObjectReader(oldObject, '', []);
  const isSame = grants.every((field) => isEqual(binding.value(field), old.value(field)));
  if (isSame || isFirstBinding(user.username, binding)) return none;
  try {
    const role = roleRefOf(binding.fields);
    const why = `the user may not bind the ${role.kind} ${JSON.stringify(role.name)}`;
    return {
      violations: [],
      required: [
        { rights: [{ right: bindRight(role, version, namespace), violation: refusal('roleRef', why) }] },
      ],
    };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { violations: [refusal('roleRef', error.message)], required: [] };
  }
}

/** Exactly as the controller makes it: another program of that name gains nothing by it. */
function isFirstBinding(username: string, binding: ObjectReader): boolean {
  return (
    username === FIRST_BINDING.user &&
    binding.object('metadata').text('name') === FIRST_BINDING.name &&
    isEqual(binding.value('roleRef'), FIRST_BINDING.roleRef) &&
    isEqual(binding.value('subjects'), FIRST_BINDING.subjects)
  );
}

function refusal(path: string, why: string): Violation {
  return { rule: 'bindings', path, value: undefined, message: `${path}: ${why}` };
}
