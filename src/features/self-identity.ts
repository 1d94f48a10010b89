/**
 * Says who the client is: in Stonegate's own API, and on the portal's pages.
 */

import type { UpstreamResponse } from '../kubernetes/upstream-ports.ts';
import { timestamp } from '../lib/go-time.ts';
import type { RouteHandler } from '../proxy/feature.ts';
import type { Scoped } from '../proxy/request-context.ts';
import { jsonResponse } from '../proxy/response/own-responses.ts';
import type { IdentityScope, Subject } from '../tenancy/identity.ts';
import type { ProjectNamespace } from '../tenancy/keystone-v3.ts';

export function createSelfIdentityHandler(namespaceOf: ProjectNamespace): RouteHandler<UpstreamResponse> {
  return async (outgoing) => jsonResponse(200, selfIdentityOf(outgoing, namespaceOf));
}

/** Describes a user who is known by other means than a request. */
export function selfIdentityOf(
  { user, tenant, identity, impersonator }: Pick<Scoped, 'user' | 'tenant' | 'identity' | 'impersonator'>,
  namespaceOf: ProjectNamespace,
) {
  // The facts of a credential do not hold for the user whom its holder impersonates.
  const known = impersonator === undefined ? identity.scope : undefined;
  const { roles = [], ...scope } = known ?? {};
  const { accessToken } = identity;
  const namespace = known && namespaceOfScope(known, identity.subject, namespaceOf);
  return {
    kind: 'SelfIdentity' as const,
    apiVersion: 'stonegate.dev/v1alpha1' as const,
    metadata: { creationTimestamp: null },
    status: {
      user,
      tenant,
      authenticator: identity.authenticator,
      ...('kind' in scope && { scope: { ...scope, ...(namespace !== undefined && { namespace }) } }),
      roles,
      ...(accessToken && { accessToken: { id: accessToken.id, scopes: accessToken.text } }),
      expirationTimestamp: timestamp(identity.expiresAt),
    },
  };
}

function namespaceOfScope(
  { kind, id, name }: IdentityScope,
  subject: Subject,
  namespaceOf: ProjectNamespace,
): string | undefined {
  if (kind !== 'project' || id === undefined || name === undefined) return undefined;
  const domainID = subject.kind === 'keystone' ? subject.scopeDomain.id : undefined;
  return namespaceOf({ id, name, domainID });
}
