/**
 * The page of an invitation that a user has the link of. The secret of the link goes from its URL into a
 * sealed cookie at once, so that it is in no address, history or referrer of a page, and survives signing in.
 */
import { StatusError } from '../../../errors/status-error.ts';
import type { OwnRequest } from '../../../proxy/session-request.ts';
import type { Invitations } from '../../members/feature.ts';
import { type Offer, OWN_ACCEPTANCES } from '../../members/invitation-v1alpha1.ts';
import type { PortalContext } from '../context.ts';
import { clearCookie, cookieOf, INVITATION_COOKIE, setCookie } from '../cookies.ts';
import { type Html, html } from '../html.ts';
import { noInvitation, notFound } from '../problem.ts';
import { INVITATION, INVITATION_LINK, type PortalRequest } from '../request.ts';
import { type PortalResponse, seeOther } from '../response.ts';
import { userPage, type Visit } from '../user-page.ts';
import { button, form, formatTime } from './page-parts.ts';

const SEALED_FOR = 'invitation';
/** Characters: more than a secret has. */
const MAX_SECRET = 256;

/** Says nothing of the invitation before the user has signed in, not even whether there is one. */
export function followInvitation({ path }: PortalRequest, context: PortalContext): PortalResponse {
  if (context.invitations === undefined) throw notFound();
  const secret = path.slice(INVITATION_LINK.length, INVITATION_LINK.length + MAX_SECRET);
  return seeOther(INVITATION, [setCookie(INVITATION_COOKIE, context.sealer.seal(secret, SEALED_FOR))]);
}

export const INVITATION_PAGE = userPage<Invitations>({
  path: INVITATION,
  standsFor: accepts,
  sourceOf: ({ invitations }) => invitations,
  async show(page) {
    const { source, identity, change, flash } = page;
    const isAccepted = flash !== undefined;
    return {
      title: 'Invitation',
      narrow: true,
      main: html`<div class="card">${
        isAccepted
          ? html`<p>You have accepted it.</p><p><a class="button stretch" href="/">Go to the start page</a></p>`
          : offered(await orNoInvitation(source.show(identity, secretOf(page), change)), page)
      }</div>`,
    };
  },
  actions: { accept: accepts },
  async act(_entered, page) {
    const { source, identity, change } = page;
    const { namespace, role, team } = await orNoInvitation(source.accept(identity, secretOf(page), change));
    return {
      text:
        team === undefined
          ? `You have the role ${role} in the namespace ${namespace} now.`
          : `You are in the team ${team} now.`,
    };
  },
  headers: [clearCookie(INVITATION_COOKIE)],
});

function accepts(): OwnRequest {
  return { verb: 'create', resource: OWN_ACCEPTANCES };
}

/** @throws PortalProblem without a link */
function secretOf({ request, context }: Visit<unknown>): string {
  const sealed = cookieOf(request.exchange.headers, INVITATION_COOKIE);
  const secret = sealed && context.sealer.open(sealed, SEALED_FOR);
  if (!secret) throw noInvitation();
  return secret;
}

/** One page for every reason why a user cannot accept an invitation. */
async function orNoInvitation<T>(offer: Promise<T>): Promise<T> {
  try {
    return await offer;
  } catch (error) {
    throw error instanceof StatusError && error.http === 404 ? noInvitation() : error;
  }
}

function offered(offer: Offer, page: Visit<unknown>): Html {
  const { inviter, expirationTimestamp, namespace, role, team } = offer;
  const { username } = page.context.identities.describe(page.identity).user;
  const what =
    team === undefined
      ? html`to the namespace <code>${namespace}</code>, with the role <strong>${role}</strong>`
      : html`to the team <code>${team}</code>`;
  return html`<p><strong>${inviter}</strong> invites you ${what}.</p>
<p>You accept as <strong>${username}</strong>. If that is not who was meant, sign out and sign in as another user. The link counts once, until ${formatTime(expirationTimestamp)}.</p>
${form(page, 'accept', button('Accept'))}`;
}
