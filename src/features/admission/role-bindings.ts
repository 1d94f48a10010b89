/**
 * Arktos compares a binding with the *system* tenant's role of that name, not with the tenant's. A user who
 * may write bindings could so give themselves a stronger role of the tenant. So the author of a
 * binding must hold `bind` on its role in the tenant, for the proxy and for the admission webhook alike.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
 */
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import type { SubjectAccessReviewStatus } from '../../kubernetes/authorization-v1.ts';
import { fieldOf, malformed, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { ResourceRequest, TenantName } from '../../kubernetes/request-info.ts';
import { isEqual } from '../../lib/json-equal.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { BodyRule, InspectedBody, InspectedRequest } from '../../proxy/body-rule.ts';
import { bodyForbidden } from '../../proxy/body-rule.ts';
import { readerOf } from './object-reader.ts';
import { type Judgement, NO_OBJECTION, type Right } from './required-rights.ts';
import { violation } from './violation.ts';

const RBAC_GROUP = 'rbac.authorization.k8s.io';
const MAX_BYTES = 1024 * 1024;
/** Made by Arktos' tenant controller in each new tenant. */
const FIRST_BINDING = {
  user: 'system:serviceaccount:kube-system:tenant-controller',
  name: 'admin-role-binding',
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'admin-role' },
  subjects: [{ apiGroup: RBAC_GROUP, kind: 'User', name: 'admin' }],
};

export function isBinding(group: string, resource: string): boolean {
  return group === RBAC_GROUP && ['rolebindings', 'clusterrolebindings'].includes(resource);
}

interface GivenRole {
  readonly apiGroup: typeof RBAC_GROUP;
  readonly kind: 'Role' | 'ClusterRole';
  /** What may be one segment of a path, as RBAC demands of names. */
  readonly name: string;
}

/** @throws StatusError BodyMalformed if it could be read as another role, or as none */
function roleRefOf(binding: JSONObject): GivenRole {
  const reference = objectOf(fieldOf(binding, 'roleRef'), 'roleRef');
  const [apiGroup, kind, name] = ['apiGroup', 'kind', 'name'].map((field) => textOf(reference, field));
  if (apiGroup !== RBAC_GROUP && apiGroup !== '') throw malformed(`roleRef.apiGroup is not ${RBAC_GROUP}`);
  if (kind !== 'Role' && kind !== 'ClusterRole')
    throw malformed('roleRef.kind is neither Role nor ClusterRole');
  if (name === undefined || /^\.{0,2}$|[/%]/.test(name)) throw malformed('roleRef.name is no name of a role');
  return { apiGroup: RBAC_GROUP, kind, name };
}

/** @param namespace of the binding; empty for one in the whole tenant */
function bindRight({ kind, name }: GivenRole, version: string, namespace: string): Right {
  const resource = kind === 'Role' ? 'roles' : 'clusterroles';
  return { verb: 'bind', group: RBAC_GROUP, version, resource, name, ...(namespace !== '' && { namespace }) };
}

function mayNotBind({ kind, name }: GivenRole): string {
  return `the user may not bind the ${kind} ${JSON.stringify(name)}`;
}

/** @param request of a tenant's user about a binding, which Arktos has compared by then */
export function requiredToBind(request: AdmissionRequest): Judgement {
  const { operation, version, namespace, object, oldObject } = request;
  if (operation !== 'CREATE' && operation !== 'UPDATE') return NO_OBJECTION;
  const [binding, old] = [readerOf(object).fields, readerOf(oldObject).fields];
  if (['roleRef', 'subjects'].every((field) => isEqual(binding[field], old[field]))) return NO_OBJECTION;
  if (isFirstBinding(request)) return NO_OBJECTION;
  try {
    const role = roleRefOf(binding);
    const right = bindRight(role, version, namespace);
    const why = violation('bindings', 'roleRef', undefined, mayNotBind(role));
    return { violations: [], required: [{ rights: [{ right, violation: why }] }] };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { ...NO_OBJECTION, violations: [violation('bindings', 'roleRef', undefined, error.message)] };
  }
}

/** Whether it is exactly as the controller makes it: another program of that name gains nothing by it. */
function isFirstBinding({ user, object }: AdmissionRequest): boolean {
  const binding = readerOf(object);
  return (
    user.username === FIRST_BINDING.user &&
    binding.object('metadata').text('name') === FIRST_BINDING.name &&
    isEqual(binding.value('roleRef'), FIRST_BINDING.roleRef) &&
    isEqual(binding.value('subjects'), FIRST_BINDING.subjects)
  );
}

export interface RoleBindingsOptions {
  /** Whether the tenant's users may act in no other tenant, and the API server knows tenants at all. */
  readonly isConfined: (tenant: TenantName) => boolean;
  /** Asks what the user of the request may do. */
  readonly review: (
    request: InspectedRequest,
    right: Right,
  ) => Promise<Pick<SubjectAccessReviewStatus, 'allowed' | 'denied'>>;
}

export function createRoleBindingsRule({ isConfined, review }: RoleBindingsOptions): BodyRule {
  async function assertMayBind(role: GivenRole, request: InspectedRequest): Promise<void> {
    const { apiVersion, namespace } = request.info;
    const { allowed, denied = false } = await review(request, bindRight(role, apiVersion, namespace));
    if (!allowed || denied) throw bodyForbidden(request, mayNotBind(role));
  }

  return {
    maxBytes: MAX_BYTES,
    formats: new Set(['object', 'json-patch', 'merge-patch', 'strategic-merge-patch']),
    appliesTo: ({ apiGroup, resource }, tenant) => isBinding(apiGroup, resource) && isConfined(tenant),
    async admit(body, request) {
      if (body.format === 'object') {
        await assertMayBind(roleRefOf(objectOf(body.content, 'the body')), request);
        return undefined;
      }
      const { status, content } = await request.readStored();
      if (status === 404) throw notFound(request.info);
      if (status !== 200)
        throw bodyForbidden(request, 'the stored binding cannot be read with the rights of the user');
      const stored = roleRefOf(objectOf(content, 'the stored binding'));
      await assertMayBind(stored, request);
      return withRoleRef(body, stored);
    },
  };
}

/**
 * The patch with the reviewed role in its result: if the stored binding names another one by then, Arktos
 * refuses it.
 *
 * @throws StatusError BodyMalformed if the patch is about the role itself, which cannot be changed
 */
function withRoleRef({ format, content }: InspectedBody, roleRef: GivenRole): unknown {
  if (format === 'json-patch') {
    if (!Array.isArray(content)) throw malformed('a JSON patch is no list');
    for (const operation of content) assertLeavesRole(objectOf(operation, 'an operation'));
    return [...content, { op: 'add', path: '/roleRef', value: roleRef }];
  }
  const patch = objectOf(content, 'the patch');
  const sent = fieldOf(patch, 'roleRef');
  const result =
    sent === undefined ? roleRef : roleRefOf({ roleRef: { ...roleRef, ...objectOf(sent, 'roleRef') } });
  if (!isEqual(result, roleRef)) throw malformed('roleRef cannot be changed');
  return { ...patch, roleRef };
}

function assertLeavesRole(operation: JSONObject): void {
  if (textOf(operation, 'op') === 'test') return;
  for (const field of ['path', 'from'])
    if (/^\/roleref(\/|$)/i.test(textOf(operation, field))) throw malformed('roleRef cannot be changed');
}

function notFound({ resource, name }: ResourceRequest): StatusError {
  return new StatusError('NotFound', `${resource}.${RBAC_GROUP} ${JSON.stringify(name)} not found`, {
    details: { name, group: RBAC_GROUP, kind: resource },
  });
}
