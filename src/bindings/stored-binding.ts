/**
 * RoleBindings and ClusterRoleBindings as the API server returns them.
 */
import type { RBACSubject, RoleRef } from '../api/kubernetes-object.ts';
import { StatusError } from '../errors/status-error.ts';
import { goList, isJSONObject } from '../lib/json-object.ts';
import type { StoredObject } from '../reconcile/objects.ts';

export type StoredBinding = StoredObject & {
  readonly roleRef: RoleRef;
  readonly subjects: readonly RBACSubject[];
};

/** @throws StatusError UpstreamUnavailable if it is no binding */
export function storedBinding(object: StoredObject): StoredBinding {
  const { roleRef, subjects: list = null } = object;
  const subjects = goList(list);
  if (isRoleRef(roleRef) && subjects?.every(isSubject)) return { ...object, roleRef, subjects };
  throw new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause: new Error(`the ${object.kind} ${object.metadata.name} has no roleRef or no subjects`) },
  );
}

function isRoleRef(value: unknown): value is RoleRef {
  return (
    isJSONObject(value) &&
    value.apiGroup === 'rbac.authorization.k8s.io' &&
    (value.kind === 'ClusterRole' || value.kind === 'Role') &&
    typeof value.name === 'string'
  );
}

function isSubject(value: unknown): value is RBACSubject {
  if (!isJSONObject(value)) return false;
  const { kind, name, apiGroup = '', namespace = '' } = value;
  const isKnown = kind === 'User' || kind === 'Group' || kind === 'ServiceAccount';
  return isKnown && [name, apiGroup, namespace].every((text) => typeof text === 'string');
}
