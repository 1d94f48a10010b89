/**
 * The page of an invitation that a user has the link of: it says what the invitation gives, and accepts it.
 */
import { StatusError } from '../../../errors/status-error.ts';
import type { OwnRequest } from '../../../proxy/session-request.ts';
import { type Offer, OWN_ACCEPTANCES } from '../../invitations/invitation-v1alpha1.ts';
import type { InvitationSource } from '../context.ts';
import { clearCookie, INVITATION_COOKIE } from '../cookies.ts';
import { type Html, html } from '../html.ts';
import { invitationSecret } from '../invitation-link.ts';
import { noInvitation } from '../problem.ts';
import { INVITATION } from '../request.ts';
import { userPage, type Visit } from '../user-page.ts';
import { button, form, offered, timeOf } from './page-parts.ts';

export const INVITATION_PAGE = userPage<InvitationSource>({
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
          : offer(await orNoInvitation(source.show(identity, secretOf(page), change)), page)
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
  const secret = invitationSecret(request, context);
  if (secret === undefined) throw noInvitation();
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

function offer(shown: Offer, page: Visit<unknown>): Html {
  const { inviter, expirationTimestamp } = shown;
  const { username } = page.context.identities.describe(page.identity).user;
  return html`<p><strong>${inviter}</strong> invites you ${offered(shown)}.</p>
<p>You accept as <strong>${username}</strong>. If that is not who was meant, sign out and sign in as another user. The link is valid once, until ${timeOf(expirationTimestamp, page)}.</p>
${form(page, 'accept', button('Accept'))}`;
}
