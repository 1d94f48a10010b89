/**
 * Arktos compares a binding with the *system* tenant's role of that name, not with the tenant's. A user who
 * may write bindings could so give themselves a stronger role of the tenant. So a binding is forwarded only
 * if the user may `bind` its role in the tenant.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
 */

import { StatusError } from '../../errors/status-error.ts';
import type { SubjectAccessReviewStatus } from '../../kubernetes/authorization-v1.ts';
import { fieldOf, malformed, objectOf, textOf } from '../../kubernetes/body-fields.ts';
import type { ResourceRequest, TenantName } from '../../kubernetes/request-info.ts';
import type { JSONObject } from '../../lib/json-object.ts';
import type { BodyRule, InspectedBody, InspectedRequest } from '../../proxy/body-rule.ts';
import { bodyForbidden } from '../../proxy/body-rule.ts';
import {
  type BindRight,
  bindRight,
  type GivenRole,
  isBinding,
  RBAC_GROUP,
  roleRefOf,
} from './binding-rights.ts';

export interface RoleBindingsOptions {
  /** Whether the tenant's users may act in no other tenant, and the API server knows tenants at all. */
  readonly isConfined: (tenant: TenantName) => boolean;
  /** Asks what the user of the request may do. */
  readonly review: (
    request: InspectedRequest,
    attributes: BindRight,
  ) => Promise<Pick<SubjectAccessReviewStatus, 'allowed' | 'denied'>>;
}

const MAX_BYTES = 1024 * 1024;

export function createRoleBindingsRule(options: RoleBindingsOptions): BodyRule {
  return {
    name: 'role-bindings',
    maxBytes: MAX_BYTES,
    formats: new Set(['object', 'json-patch', 'merge-patch', 'strategic-merge-patch']),
    concerns: ({ apiGroup, resource }, tenant) => isBinding(apiGroup, resource) && options.isConfined(tenant),
    async admit(body, request) {
      if (body.format === 'object') {
        await assertMayBind(roleRefOf(objectOf(body.content, 'the body')), request, options);
        return undefined;
      }
      const { status, content } = await request.readStored();
      if (status === 404) throw notFound(request.info);
      if (status !== 200)
        throw bodyForbidden(request, 'the stored binding cannot be read with the rights of the user');
      const stored = roleRefOf(objectOf(content, 'the stored binding'));
      await assertMayBind(stored, request, options);
      return withRoleRef(body, stored);
    },
  };
}

async function assertMayBind(
  role: GivenRole,
  request: InspectedRequest,
  options: RoleBindingsOptions,
): Promise<void> {
  const { info } = request;
  const right = bindRight(role, info.apiVersion, info.namespace);
  const { allowed, denied = false } = await options.review(request, right);
  if (allowed && !denied) return;
  throw bodyForbidden(request, `the user may not bind the ${role.kind} ${JSON.stringify(role.name)}`);
}

/**
 * The patch with the reviewed role in its result: if the stored binding names another one by then, Arktos
 * refuses it.
 *
 * @throws StatusError BodyMalformed if the patch is about the role itself, which cannot be changed
 */
function withRoleRef({ format, content }: InspectedBody, { kind, name }: GivenRole): unknown {
  const roleRef = { apiGroup: RBAC_GROUP, kind, name };
  if (format === 'json-patch') {
    if (!Array.isArray(content)) throw malformed('a JSON patch is no list');
    for (const operation of content) assertLeavesRole(objectOf(operation, 'an operation'));
    return [...content, { op: 'add', path: '/roleRef', value: roleRef }];
  }
  const patch = objectOf(content, 'the patch');
  const sent = fieldOf(patch, 'roleRef');
  if (sent !== undefined) {
    const same = roleRefOf({ roleRef: { ...roleRef, ...objectOf(sent, 'roleRef') } });
    if (same.kind !== kind || same.name !== name) throw malformed('roleRef cannot be changed');
  }
  return { ...patch, roleRef };
}

function assertLeavesRole(operation: JSONObject): void {
  if (textOf(operation, 'op') === 'test') return;
  for (const field of ['path', 'from'] as const)
    if (/^\/roleref(\/|$)/i.test(textOf(operation, field))) throw malformed('roleRef cannot be changed');
}

function notFound({ resource, name }: ResourceRequest): StatusError {
  return new StatusError('NotFound', `${resource}.${RBAC_GROUP} ${JSON.stringify(name)} not found`, {
    details: { name, group: RBAC_GROUP, kind: resource },
  });
}
