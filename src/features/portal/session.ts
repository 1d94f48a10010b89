/**
 * Sessions of the portal. Every sign-in ends here: the credential passes the API's own authenticators and
 * tenancy mode, and the session holds the identity that it proved, never the credential. CWE-384 (session
 * fixation).
 */
import type { PortalContext } from './context.ts';
import { clearCookie, newID, OIDC_COOKIE, SESSION_COOKIE, setCookie, VISIT_COOKIE } from './cookies.ts';
import type { ProjectName, Session } from './portal-storage.ts';
import { sessionNotStored } from './problem.ts';
import { type PortalRequest, redirectTarget } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';

export interface SignIn {
  readonly credential: { readonly kind: 'bearer' | 'x-auth-token'; readonly token: string };
  /** Undefined for Keystone. */
  readonly issuer?: string;
  readonly projects: readonly ProjectName[];
  /** Requested redirect target, not validated yet. */
  readonly next: string | null | undefined;
}

/**
 * Creates a session with a new ID. A session that the browser sent along is removed: an attacker may have
 * planted it.
 *
 * @throws StatusError as the API would refuse the credential; PortalProblem if the session cannot be stored
 */
export async function beginSession(
  { credential, issuer, projects, next }: SignIn,
  { source, sessionID }: PortalRequest,
  { identities, sessions, clock, random, logger, sessionLifetime }: PortalContext,
): Promise<PortalResponse> {
  const identity = await identities.authenticate(credential, source);
  const described = identities.describe(identity);
  const session: Session = {
    identity,
    ...(issuer === undefined ? {} : { issuer }),
    projects,
    expiresAt: Math.min(identity.expiresAt, clock.now() + sessionLifetime),
  };
  if (sessionID !== undefined) await sessions.remove(sessionID);
  const id = newID(random);
  if (!(await sessions.save(id, session, described))) throw sessionNotStored();
  const { tenant, user } = described;
  logger.info({ user: user.username, tenant, source, issuer }, 'signed in at the portal');
  return seeOther(redirectTarget(next), [
    setCookie(SESSION_COOKIE, id),
    clearCookie(VISIT_COOKIE),
    clearCookie(OIDC_COOKIE),
  ]);
}

/** The session of the request's cookie. Its end is checked here as well as in the store. */
export async function currentSession(
  { sessionID }: PortalRequest,
  { sessions, clock }: PortalContext,
): Promise<Session | undefined> {
  if (sessionID === undefined) return undefined;
  const session = await sessions.find(sessionID);
  return session !== undefined && clock.now() < session.expiresAt ? session : undefined;
}
