/**
 * The page of an invitation that a user has the link of: it says what the invitation gives, and accepts it.
 */
import { StatusError } from '../../errors/status-error.ts';
import { type Html, html } from '../../lib/html.ts';
import { type OwnRequest, type PortalPage, PortalProblem, type Visit } from '../../proxy/portal-page.ts';
import { button, form, timeOf } from '../page-parts.ts';
import { type Offer, OWN_ACCEPTANCES } from './invitation-v1alpha1.ts';
import type { Invitations } from './invitations.ts';

export function invitationPage(source: Pick<Invitations, 'offered' | 'show' | 'accept'>): PortalPage {
  return {
    path: '/invitation',
    standsFor: accepts,
    greeting(secret) {
      const offer = source.offered(secret);
      return offer && html`You are invited ${offered(offer)}.`;
    },
    async show(page) {
      const { identity, change, flash } = page;
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
      const { identity, change } = page;
      const { namespace, role, team } = await orNoInvitation(source.accept(identity, secretOf(page), change));
      return {
        text:
          team === undefined
            ? `You have the role ${role} in the namespace ${namespace} now.`
            : `You are in the team ${team} now.`,
      };
    },
  };
}

function accepts(): OwnRequest {
  return { verb: 'create', resource: OWN_ACCEPTANCES };
}

/** @throws PortalProblem without a link */
function secretOf({ secret }: Visit): string {
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

const noInvitation = () =>
  new PortalProblem({
    status: 404,
    title: 'There is no such invitation for you',
    text: 'It was used or withdrawn, has expired, or is for another user. Ask for another link where you have this one from.',
    action: { label: 'Go to the start page', target: '/' },
  });

/** Describes what an invitation grants, after "invites you" or "You are invited". */
function offered({ namespace, role, team }: Offer): Html {
  return team === undefined
    ? html`to the namespace <code>${namespace}</code>, with the role <strong>${role}</strong>`
    : html`to the team <code>${team}</code>`;
}

function offer(shown: Offer, page: Visit): Html {
  const { inviter, expirationTimestamp } = shown;
  return html`<p><strong>${inviter}</strong> invites you ${offered(shown)}.</p>
<p>You accept as <strong>${page.account.username}</strong>. If that is not who was meant, sign out and sign in as another user. The link is valid once, until ${timeOf(expirationTimestamp, page)}.</p>
${form(page, 'accept', button('Accept'))}`;
}
