/**
 * Changes who is a member by RoleBindings that are written as the user who asks, so that the API server
 * refuses a role that the user does not have. The role of a binding cannot be changed: another role needs
 * another binding, which is made before the old ones are removed.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
 */
import type { ErrorCode } from '../../errors/codes.ts';
import { StatusError } from '../../errors/status-error.ts';
import {
  KINDS,
  type RBACSubject,
  type RoleBinding,
  type StoredObject,
  subjectsSchema,
} from '../../kubernetes/kubernetes-object.ts';
import { collectionPath, objectPath, storedObject } from '../../kubernetes/object-format.ts';
import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { readJSONObject } from '../../lib/json-object.ts';
import type { RequestAsIdentity } from '../../proxy/as-identity.ts';
import { keyOfSubject, type SubjectKey, subjectOfKey } from '../../rbac/subject-key.ts';
import { serviceAccountOf } from '../../tenancy/impersonation-target.ts';
import { bindingName, clusterRoleOf, type FoundMember } from './members.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Sends requests about the RoleBindings of one namespace as one user. */
export interface BindingWriter {
  readonly namespace: string;
  send(request: Pick<RequestAsIdentity, 'method' | 'target' | 'body'>): Promise<UpstreamResponse>;
  readonly dryRun: boolean;
}

/** @throws StatusError as `refusalOf` says */
export async function addBinding(
  { id, key }: Pick<FoundMember, 'id' | 'key'>,
  role: string,
  writer: BindingWriter,
): Promise<void> {
  const name = bindingName(id, role);
  const body: RoleBinding = {
    apiVersion: `${GROUP}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace: writer.namespace },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: clusterRoleOf(role) },
    subjects: [rbacSubject(key)],
  };
  const created = await write(writer, 'POST', undefined, body);
  // Another client may have changed the subjects of the binding that is there.
  const response = created.status === 409 ? await write(writer, 'PUT', name, body) : created;
  if (response.status === 201 || response.status === 200) return;
  const refusal = refusalOf(response);
  // The API server's words are that a RoleBinding of the role's name was not found.
  const isRoleMissing = response.status === 404 && refusal.message.includes(`"${body.roleRef.name}"`);
  throw isRoleMissing
    ? new StatusError('NotFound', `there is no ClusterRole "${body.roleRef.name}"`)
    : refusal;
}

function rbacSubject(key: SubjectKey): RBACSubject {
  const { kind, name } = subjectOfKey(key);
  if (kind === 'group') return { apiGroup: GROUP, kind: 'Group', name };
  const account = serviceAccountOf(name);
  return account ? { kind: 'ServiceAccount', ...account } : { apiGroup: GROUP, kind: 'User', name };
}

export type ReadBinding = StoredObject & { readonly subjects: readonly RBACSubject[] };

/**
 * @returns undefined if there is no such binding any more
 * @throws StatusError as `refusalOf` says
 */
export async function readBinding(name: string, writer: BindingWriter): Promise<ReadBinding | undefined> {
  const response = await writer.send({ method: 'GET', target: pathOf(writer, name) });
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw refusalOf(response);
  const { data: subjects = [] } = subjectsSchema.safeParse(readJSONObject(response.body)?.subjects);
  return { ...storedObject(readJSONObject(response.body), KINDS.RoleBinding), subjects };
}

/**
 * Removes the member from a binding, which is deleted if it has no other subject.
 *
 * @throws StatusError as `refusalOf` says; Conflict if the binding was changed since it was read
 */
export async function removeSubject(
  key: SubjectKey,
  binding: ReadBinding,
  writer: BindingWriter,
): Promise<void> {
  const { name, uid, resourceVersion } = binding.metadata;
  const subjects = binding.subjects.filter(
    (subject) => keyOfSubject({ namespace: '', ...subject }, writer.namespace) !== key,
  );
  const { dryRun } = writer;
  // If a deletion has a body, the API server ignores the query.
  const options = { preconditions: { uid, resourceVersion }, ...(dryRun && { dryRun: ['All'] }) };
  const response =
    subjects.length > 0
      ? await write(writer, 'PUT', name, { ...binding, subjects })
      : await write(writer, 'DELETE', name, { kind: 'DeleteOptions', apiVersion: 'v1', ...options });
  if (response.status !== 200 && response.status !== 404) throw refusalOf(response);
}

function write(
  writer: BindingWriter,
  method: 'POST' | 'PUT' | 'DELETE',
  name: string | undefined,
  body: object,
) {
  const target = `${pathOf(writer, name)}${writer.dryRun ? '?dryRun=All' : ''}`;
  return writer.send({ method, target, body });
}

function pathOf({ namespace }: BindingWriter, name: string | undefined): string {
  const kind = KINDS.RoleBinding;
  return name === undefined ? collectionPath(kind, { namespace }) : objectPath(kind, { namespace }, name);
}

const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  403: 'AccessDenied',
  404: 'NotFound',
  409: 'Conflict',
  422: 'ObjectInvalid',
  429: 'TenantRateExceeded',
};

/** The API server's refusal in its own words, which are meant for the user as whom it was asked. */
function refusalOf({ status, body }: Pick<UpstreamResponse, 'status' | 'body'>): StatusError {
  const message = readJSONObject(body)?.message;
  const code = REFUSALS[status];
  if (code !== undefined && typeof message === 'string') return new StatusError(code, message);
  return new StatusError('UpstreamUnavailable', "the API server's answer about role bindings is unusable", {
    cause: `its status was ${status}`,
  });
}
