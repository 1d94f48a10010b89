/**
 * A connection into a pod needs the right to `create`, whatever the method. A WebSocket can only be opened
 * with GET, which RBAC reads as the verb `get`: a role for reading pods, or nodes (kubelets open shells too),
 * would open shells. If the right cannot be reviewed, or the scope of an access token lacks it, the request
 * is refused.
 * RFC 6455 §4.1; https://kubernetes.io/docs/concepts/security/rbac-good-practices/
 */

import { type AccessReviewer, isAllowed, resourceAttributesOf } from '../../kubernetes/access-reviewer.ts';
import { forbidden } from '../../kubernetes/forbidden.ts';
import { POD_CONNECTIONS, type RequestInfo, type ResourceRequest } from '../../kubernetes/request-info.ts';
import { reviewSubject } from '../../proxy/acting-tenant.ts';
import type { AuthorizationAttributes, Authorizer } from '../../proxy/authorizer.ts';
import type { ReasonOf } from '../../proxy/rbac-reasons.ts';
import { requireScope } from '../../proxy/scope-guard.ts';
import type { TenancyMode } from '../../tenancy/tenancy-mode.ts';

export interface ConnectCreateOptions extends Pick<TenancyMode, 'reviewTenant'> {
  readonly reviewer: AccessReviewer;
  /** Why RBAC does not allow the request; absent without the RBAC index. */
  readonly reasonOf?: ReasonOf | undefined;
}

export function createConnectCreate({ reviewer, reviewTenant, reasonOf }: ConnectCreateOptions): Authorizer {
  async function review(info: ResourceRequest, attributes: AuthorizationAttributes) {
    const { user, exchange } = attributes;
    const subject = reviewSubject(attributes, reviewTenant);
    const asked = { ...info, verb: 'create' };
    requireScope({ ...attributes, info: asked }, { reviewTenant });
    const tenant = info.tenant === '' ? subject.home : info.tenant;
    const resourceAttributes = resourceAttributesOf(asked, tenant);
    if (await isAllowed(reviewer, subject, { resourceAttributes }, exchange.signal)) return;
    const note = reasonOf?.({ ...attributes, info: asked }, false);
    throw forbidden('AccessDenied', asked, user.username, tenant, undefined, note);
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
