/**
 * A connection into a pod needs the right to `create`, whatever the method. A WebSocket can only be opened
 * with GET, which RBAC reads as the verb `get`: a role for reading pods, or nodes (kubelets open shells too),
 * would open shells. If the right cannot be reviewed, the request is refused.
 * RFC 6455 §4.1; https://kubernetes.io/docs/concepts/security/rbac-good-practices/
 */

import { type AccessReviewer, isAllowed } from '../../kubernetes/access-reviewer.ts';
import type { ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { POD_CONNECTIONS, type RequestInfo, type ResourceRequest } from '../../kubernetes/request-info.ts';
import { reviewSubject } from '../../proxy/acting-tenant.ts';
import {
  type AuthorizationAttributes,
  type Authorizer,
  decidedFor,
  type RefusalReason,
} from '../../proxy/authorizer.ts';

export interface ConnectCreateOptions {
  readonly reviewer: AccessReviewer;
  /** The tenant named in access reviews; undefined if the API server has no tenants. */
  readonly reviewTenant: (tenant: TenantName) => TenantName | undefined;
  /** Why RBAC does not allow the request; absent without the RBAC index. */
  readonly reasonOf?: RefusalReason | undefined;
}

export function createConnectCreate({ reviewer, reviewTenant, reasonOf }: ConnectCreateOptions): Authorizer {
  async function review(info: ResourceRequest, attributes: AuthorizationAttributes) {
    const { user, exchange } = attributes;
    const subject = reviewSubject(attributes, reviewTenant);
    const resourceAttributes = attributesOf(info, info.tenant === '' ? subject.home : info.tenant);
    if (await isAllowed(reviewer, subject, { resourceAttributes }, exchange.signal)) return;
    const asked = { ...info, verb: 'create' };
    const note = reasonOf?.({ info: asked, ...decidedFor(attributes) }, false);
    throw forbidden('AccessDenied', asked, user.username, resourceAttributes.tenant, undefined, note);
  }

  return {
    name: 'connect-create',
    authorize(attributes) {
      const { info, exchange } = attributes;
      if (exchange.upgrade === undefined || info.verb === 'create') return undefined;
      if (isNodeProxy(info)) return review({ ...info, subresource: 'proxy' }, attributes);
      return isPodConnection(info) ? review(info, attributes) : undefined;
    },
  };
}

function isPodConnection(info: RequestInfo): info is ResourceRequest {
  return (
    info.isResourceRequest &&
    info.apiGroup === '' &&
    info.resource === 'pods' &&
    POD_CONNECTIONS.has(info.subresource)
  );
}

/**
 * The kubelet's own `exec`, `attach`, `run` and `portForward` are behind it, also with the legacy prefix.
 * With that prefix `upgrade-places.ts` refuses each upgrade before: the check of the verb is a second line of
 * defence.
 */
function isNodeProxy(info: RequestInfo): info is ResourceRequest {
  return (
    info.isResourceRequest &&
    info.apiGroup === '' &&
    info.resource === 'nodes' &&
    (info.subresource === 'proxy' || info.verb === 'proxy')
  );
}

function attributesOf(info: ResourceRequest, tenant: TenantName | undefined): ResourceAttributes {
  return {
    ...(tenant === undefined ? {} : { tenant }),
    namespace: info.namespace,
    verb: 'create',
    group: info.apiGroup,
    version: info.apiVersion,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
  };
}
