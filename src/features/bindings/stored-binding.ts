/**
 * RoleBindings and ClusterRoleBindings as the API server returns them.
 */
import { z } from 'zod';
import { StatusError } from '../../errors/status-error.ts';
import {
  type RBACSubject,
  type RoleRef,
  roleRefSchema,
  type StoredObject,
  subjectsSchema,
} from '../../kubernetes/kubernetes-object.ts';

export type StoredBinding = StoredObject & {
  readonly roleRef: RoleRef;
  readonly subjects: readonly RBACSubject[];
};

const fieldsSchema = z.object({ roleRef: roleRefSchema, subjects: subjectsSchema });

/** @throws StatusError UpstreamUnavailable if it is no binding */
export function storedBinding(object: StoredObject): StoredBinding {
  const { data: fields } = fieldsSchema.safeParse(object);
  if (fields !== undefined) return { ...object, ...fields };
  throw new StatusError(
    'UpstreamUnavailable',
    "Service Unavailable: the API server's answer to provisioning is unusable",
    { cause: new Error(`the ${object.kind} ${object.metadata.name} has no roleRef or no subjects`) },
  );
}
