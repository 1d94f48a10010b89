/**
 * Sessions of the portal. Every sign-in ends here: the credential passes the API's own authenticators and
 * tenancy mode, and the session holds the identity that it proved, never the credential. A Keystone token is
 * stored in the browser alone, sealed for this session. CWE-384 (session fixation).
 */
import { hash } from 'node:crypto';
import { signInOf } from '../../identity/owners.ts';
import { asSession, type SessionUser } from '../../proxy/session-request.ts';
import type { PortalContext } from './context.ts';
import {
  clearCookie,
  cookieOf,
  newID,
  OIDC_COOKIE,
  SESSION_COOKIE,
  setCookie,
  TOKEN_COOKIE,
  VISIT_COOKIE,
} from './cookies.ts';
import type { ProjectName, Session } from './portal-storage.ts';
import { sessionNotStored } from './problem.ts';
import { type PortalRequest, redirectTarget } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';

/** A browser refuses a larger cookie: 4,096 bytes with its name and attributes (RFC 6265 §6.1). */
const MAX_SEALED_TOKEN = 3_900;

export interface SignIn {
  readonly credential: { readonly kind: 'bearer' | 'x-auth-token'; readonly token: string };
  /** Undefined for Keystone. */
  readonly issuer?: string;
  readonly projects: readonly ProjectName[];
  /** The Keystone token with which the user can switch to another of the projects. */
  readonly exchangeable?: string;
  /** Set if this replaces a session: the new one ends no later. */
  readonly endsAt?: number;
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
  { credential, issuer, projects, exchangeable, endsAt, next }: SignIn,
  { observed, source, sessionID }: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const { identities, sessions, sealer, clock, random, sessionLifetime } = context;
  const found = await identities.authenticate(credential, source);
  const now = clock.now();
  const identity = { ...found, signedInAt: signInOf(found, now) };
  const described = identities.describe(identity);
  const id = newID(random);
  await asSession(observed, { ...described, identity, session: nameOf(id) }, context);
  const session: Session = {
    identity,
    ...(issuer === undefined ? {} : { issuer }),
    projects,
    expiresAt: Math.min(identity.expiresAt, endsAt ?? now + sessionLifetime),
  };
  if (sessionID !== undefined) await sessions.remove(sessionID);
  if (!(await sessions.save(id, session, described))) throw sessionNotStored();
  const canSwitch = exchangeable !== undefined && projects.some((other) => other.id !== identity.scope?.id);
  const sealed = canSwitch ? sealer.seal(exchangeable, sealedFor(id)) : '';
  return seeOther(redirectTarget(next, context), [
    setCookie(SESSION_COOKIE, id),
    clearCookie(VISIT_COOKIE),
    clearCookie(OIDC_COOKIE),
    sealed !== '' && sealed.length <= MAX_SEALED_TOKEN
      ? setCookie(TOKEN_COOKIE, sealed)
      : clearCookie(TOKEN_COOKIE),
  ]);
}

/** The Keystone token that the browser stores for this session. */
export function exchangeableToken(
  { exchange, sessionID }: PortalRequest,
  { sealer }: PortalContext,
): string | undefined {
  const sealed = cookieOf(exchange.headers, TOKEN_COOKIE);
  if (sealed === undefined || sessionID === undefined) return undefined;
  return sealer.open(sealed, sealedFor(sessionID));
}

/** Sealed for one session, so that it is worthless after signing out. */
function sealedFor(sessionID: string): string {
  return `keystone-token ${sessionID}`;
}

/** The user of a session, for the observers and the limiter. */
export function userOf(
  { identity }: Session,
  { sessionID = '' }: PortalRequest,
  { identities }: Pick<PortalContext, 'identities'>,
): SessionUser {
  const own = { ...identity, authenticator: 'portal' };
  return { ...identities.describe(identity), identity: own, session: nameOf(sessionID) };
}

/** Names a session in the audit log. The id cannot be found from it: it has 256 random bits. */
function nameOf(sessionID: string): string {
  return hash('sha256', sessionID).slice(0, 16);
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
