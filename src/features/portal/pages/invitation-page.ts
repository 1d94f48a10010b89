/**
 * The page of an invitation that a user has the link of, and the parts of the pages of members and teams by
 * which users invite.
 */
import type { Offer, ShownInvitation } from '../../members/invitation-v1alpha1.ts';
import { type Content, type Html, html } from '../html.ts';
import { formatTime } from './account-page.ts';
import {
  button,
  copied,
  entering,
  type Forms,
  fold,
  form,
  hidden,
  outcome,
  textField,
} from './form-parts.ts';
import { type Frame, layout } from './layout.ts';

export interface InvitationPage extends Forms {
  readonly frame: Frame;
  /** The user who would accept it. */
  readonly username: string;
  /** Undefined after it was accepted. */
  readonly offer: Offer | undefined;
}

export function invitationPage(page: InvitationPage): Html {
  const { frame, offer } = page;
  return layout({
    ...frame,
    title: 'Invitation',
    narrow: true,
    main: html`${outcome(page)}
<div class="card"><h1>Invitation</h1>
${offer === undefined ? html`<p>You have accepted it.</p><p><a class="button stretch" href="/">Go to the start page</a></p>` : offered(offer, page)}</div>`,
  });
}

function offered({ inviter, expirationTimestamp, ...target }: Offer, page: InvitationPage): Html {
  return html`<p><strong>${inviter}</strong> invites you ${toWhat(target)}.</p>
<p>You accept as <strong>${page.username}</strong>. If that is not who was meant, sign out and sign in as another user. The link counts once, until ${formatTime(Date.parse(expirationTimestamp))}.</p>
${form(page, 'accept', button('Accept'))}`;
}

function toWhat({ namespace, role, team }: Pick<Offer, 'namespace' | 'role' | 'team'>): Html {
  return team === undefined
    ? html`to the namespace <code>${namespace}</code>, with the role <strong>${role}</strong>`
    : html`to the team <code>${team}</code>`;
}

/** What is shown once of an invitation that was made. */
export function invitationLink(link: string): Html {
  return copied('The link', link);
}

/** @param fields what the form asks besides, or knows already */
export function inviteForm(whole: Forms, fields: Content, at = ''): Html {
  const page = entering(whole, 'invite');
  return form(
    page,
    'invite',
    html`<p>You get a link to send to one user of your tenant. It counts once, for seven days, as long as you may give that yourself.</p>
${fields}
${textField(page, { name: 'email', type: 'email', label: 'E-mail address', hint: 'If you enter one, only a user counts whose sign-in proves this address.' }, at)}
${button('Make a link')}`,
  );
}

/** @param fields what a form about them knows already */
export function invitationsTable(
  invitations: readonly ShownInvitation[],
  page: Forms,
  fields: Content = '',
): Html | undefined {
  if (invitations.length === 0) return undefined;
  return html`<table class="sheet rows">
<caption>Invitations that were not accepted</caption>
<thead><tr><th scope="col">For</th><th scope="col">By</th><th scope="col">State</th></tr></thead>
<tbody>
${invitations.map((invitation) => row(invitation, page, fields))}</tbody>
</table>`;
}

function row({ metadata: { name }, spec, status }: ShownInvitation, page: Forms, fields: Content): Html {
  const { inviter, state, reason, expirationTimestamp } = status;
  const withdraw = html`${fields}${hidden('id', name)}<p>The link counts no more then. This cannot be undone.</p>${button('Withdraw', name, 'danger')}`;
  return html`<tr><th scope="row">${spec.email ?? 'one user with the link'}${spec.role !== undefined && html`<span class="also">role ${spec.role}</span>`}</th><td data-label="by">${inviter}</td><td>${state}<span class="also">${reason ?? `until ${formatTime(Date.parse(expirationTimestamp))}`}</span></td></tr>
${state === 'open' && html`<tr class="more"><td colspan="3">${fold('Withdraw', name, form(page, 'withdraw', withdraw))}</td></tr>\n`}`;
}
