/**
 * The end of every sign-in: the credential goes through the API's own authenticators and tenancy mode, and what it
 * proves becomes a session with a new id. A session that the browser brought along is ended, so that none that somebody
 * else planted there lives on. The credential itself is forgotten. (CWE-384)
 */

import { type Answer, seeOther } from './answer.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, OIDC_COOKIE, SESSION_COOKIE, setCookie, VISIT_COOKIE } from './cookies.ts';
import { sessionNotKept } from './problem.ts';
import { redirectTarget } from './redirect-target.ts';
import type { PortalRequest } from './request.ts';
import type { ProjectName } from './session.ts';
import { newID, type Session } from './session.ts';

export interface Proof {
  readonly credential: { readonly kind: 'bearer' | 'x-auth-token'; readonly token: string };
  /** Of the issuer; undefined for Keystone. */
  readonly issuer?: string;
  readonly projects: readonly ProjectName[];
  /** Where the browser wishes to go. */
  readonly next: string | null | undefined;
}

/** @throws StatusError as the API would refuse the credential; PortalProblem where the session cannot be kept */
export async function beginSession(
  proof: Proof,
  request: PortalRequest,
  context: PortalContext,
): Promise<Answer> {
  const { identities, sessions, clock, random, logger, sessionLifetime } = context;
  const { credential, issuer, projects, next } = proof;
  const { source, sessionID } = request;
  const identity = await identities.authenticate(credential, source);
  const known = identities.describe(identity);
  const session: Session = {
    identity,
    ...(issuer === undefined ? {} : { issuer }),
    projects,
    expiresAt: Math.min(identity.expiresAt, clock.now() + sessionLifetime),
  };
  if (sessionID !== undefined) await sessions.remove(sessionID);
  const id = newID(random);
  if (!(await sessions.save(id, session, known))) throw sessionNotKept();
  logger.info({ user: known.user.username, tenant: known.tenant, source, issuer }, 'signed in at the portal');
  return seeOther(redirectTarget(next), [
    setCookie(SESSION_COOKIE, id),
    clearCookie(VISIT_COOKIE),
    clearCookie(OIDC_COOKIE),
  ]);
}
