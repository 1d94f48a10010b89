/**
 * The link of an invitation. Its secret goes from the URL into a sealed cookie at once, so that it is in no
 * address, history or referrer of a page, and survives signing in.
 */
import type { PortalContext } from './context.ts';
import { cookieOf, INVITATION_COOKIE, setCookie } from './cookies.ts';
import { notFound } from './problem.ts';
import { INVITATION, INVITATION_LINK, type PortalRequest } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';

const SEALED_FOR = 'invitation';
/** Characters: more than a secret has. */
const MAX_SECRET = 256;

/** Answers every link alike, whether there is such an invitation or not. */
export function followInvitation({ path }: PortalRequest, context: PortalContext): PortalResponse {
  if (context.invitations === undefined) throw notFound();
  const secret = path.slice(INVITATION_LINK.length, INVITATION_LINK.length + MAX_SECRET);
  return seeOther(INVITATION, [setCookie(INVITATION_COOKIE, context.sealer.seal(secret, SEALED_FOR))]);
}

/** The secret of the link that the browser has followed. */
export function invitationSecret({ exchange }: PortalRequest, { sealer }: PortalContext): string | undefined {
  const sealed = cookieOf(exchange.headers, INVITATION_COOKIE);
  return (sealed && sealer.open(sealed, SEALED_FOR)) || undefined;
}
