/**
 * The session a browser's cookie stands for. Its end is checked here too, whatever the store thinks of it.
 */
import type { PortalContext } from './context.ts';
import type { PortalRequest } from './request.ts';
import type { Session } from './session.ts';

export async function currentSession(
  { sessionID }: PortalRequest,
  { sessions, clock }: PortalContext,
): Promise<Session | undefined> {
  if (sessionID === undefined) return undefined;
  const session = await sessions.find(sessionID);
  return session !== undefined && clock.now() < session.expiresAt ? session : undefined;
}
