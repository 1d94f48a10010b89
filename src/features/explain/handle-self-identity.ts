/**
 * Answers the question who the client is.
 */

import type { UpstreamResponse } from '../../kubernetes/upstream-ports.ts';
import { timestamp } from '../../lib/go-time.ts';
import type { RouteHandler } from '../../proxy/feature.ts';
import type { Scoped } from '../../proxy/request-context.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import type { SelfIdentity } from './stonegate-v1alpha1.ts';

export const handleSelfIdentity: RouteHandler<UpstreamResponse> = async (outgoing) =>
  jsonResponse(200, selfIdentityOf(outgoing));

/** Describes a user who is known by other means than a request. */
export function selfIdentityOf({
  user,
  tenant,
  identity,
  impersonator,
}: Pick<Scoped, 'user' | 'tenant' | 'identity' | 'impersonator'>): SelfIdentity {
  // The facts of a credential do not hold for the user whom its holder impersonates.
  const known = impersonator === undefined ? identity.scope : undefined;
  const { roles = [], ...scope } = known ?? {};
  return {
    kind: 'SelfIdentity',
    apiVersion: 'stonegate.dev/v1alpha1',
    metadata: { creationTimestamp: null },
    status: {
      user,
      tenant,
      authenticator: identity.authenticator,
      ...('kind' in scope && { scope }),
      roles,
      expirationTimestamp: timestamp(identity.expiresAt),
    },
  };
}
