/**
 * Answers who the caller is: what Stonegate itself decided on the way of this very request, so the API server is not
 * asked. Any authenticated user may know it about themselves.
 */
import type { SelfIdentity } from '../api/stonegate-v1alpha1.ts';
import { timestamp } from '../lib/timestamp.ts';
import type { Answerer } from './answerer.ts';
import type { UpstreamResponse } from './ports.ts';
import type { Scoped } from './request-state.ts';

export const selfIdentityAnswerer: Answerer = {
  answer(outgoing) {
    const { route } = outgoing;
    if (route.kind !== 'own-api' || route.resource !== 'selfidentity') return undefined;
    return Promise.resolve(answerWith(selfIdentityOf(outgoing)));
  },
};

function answerWith(identity: SelfIdentity): UpstreamResponse {
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-cache, private'],
    ],
    body: Buffer.from(`${JSON.stringify(identity)}\n`),
  };
}

/** The same of somebody who is known by other means than a request. */
export function selfIdentityOf({
  user,
  tenant,
  identity,
  impersonator,
}: Pick<Scoped, 'user' | 'tenant' | 'identity' | 'impersonator'>): SelfIdentity {
  // What a credential is good for is not known of whom its holder acts as.
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
