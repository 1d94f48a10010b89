/**
 * The parts of the pages of members and teams by which users invite: invitations that wait, and a form that
 * creates a link.
 */
import {
  invitationSpecSchema,
  OWN_INVITATIONS,
  type ShownInvitation,
  type Target,
} from '../../invitations/invitation-v1alpha1.ts';
import type { Flash } from '../flash.ts';
import { type Content, type Html, html } from '../html.ts';
import { notFound } from '../problem.ts';
import { mistake, type UserPage, type Visit } from '../user-page.ts';
import {
  breakable,
  button,
  copied,
  entering,
  type Forms,
  fold,
  form,
  hidden,
  textField,
  timeOf,
} from './page-parts.ts';
import type { Rows } from './rows.ts';
import { formatTime } from './times.ts';

/** The invitations that the user sees and that are open or were refused. */
export async function pendingInvitations({
  identity,
  context,
}: Pick<Visit<unknown>, 'identity' | 'context'>): Promise<readonly ShownInvitation[]> {
  const listed = (await context.invitations?.list(identity)) ?? [];
  return listed.filter(({ status: { state } }) => state === 'open' || state === 'refused');
}

/** The actions of the parts, for `userPage`. */
export const INVITATION_ACTIONS = {
  invite: () => ({ verb: 'create', resource: OWN_INVITATIONS }),
  withdraw: (form) => ({ verb: 'delete', resource: OWN_INVITATIONS, name: form.get('id') ?? '' }),
} satisfies UserPage<unknown>['actions'];

/** @returns undefined if the form is of another kind */
export async function actOnInvitations(
  entered: URLSearchParams,
  target: Target,
  {
    identity,
    context: { invitations },
    change,
    now,
  }: Pick<Visit<unknown>, 'identity' | 'context' | 'change' | 'now'>,
): Promise<Flash | undefined> {
  const action = entered.get('do');
  if (action !== 'invite' && action !== 'withdraw') return undefined;
  if (invitations === undefined) throw notFound();
  if (action === 'withdraw') {
    await invitations.withdraw(identity, entered.get('id') ?? '', change);
    return { text: 'The invitation is withdrawn.' };
  }
  const email = (entered.get('email') ?? '').trim();
  const { data: spec } = invitationSpecSchema.safeParse({ ...target, ...(email !== '' && { email }) });
  if (spec === undefined)
    throw mistake('Enter an e-mail address such as alice@example.com, or none.', 'email');
  const { status } = await invitations.invite(identity, spec, change);
  const until = formatTime(status.expirationTimestamp, now);
  return {
    text: `Copy this link now, and send it to the user: it is not shown again. It is valid once, until ${until}.`,
    ...(status.link !== undefined && { secret: status.link }),
  };
}

/** Renders the link of a new invitation, which is shown once. */
export function invitationLink(link: string): Html {
  return copied('The link', link);
}

/**
 * @param rows of the page
 * @param known fields that say to what the user invites
 * @param asked fields in which the user chooses it
 * @param at makes ids unique on a page with several of these forms
 */
export function inviteParts(
  pending: readonly ShownInvitation[],
  page: Forms,
  {
    rows,
    known,
    asked,
    at,
  }: {
    readonly rows: Rows;
    readonly known?: Content;
    readonly asked?: Content;
    readonly at?: string;
  },
): Html {
  const email = {
    name: 'email',
    type: 'email',
    label: 'E-mail address',
    hint: 'If you enter one, the link is valid only for a user whose sign-in proves this address.',
  } as const;
  const fields = html`<p>You get a link to send to one user of your tenant. It is valid once, for seven days, as long as you may grant that yourself.</p>
${known}${asked}
${textField(entering(page, 'invite'), email, at)}
${button('Create a link')}`;
  const shown = rows.take(pending, ({ spec, status }) => `${spec.email ?? ''} ${status.inviter}`);
  return html`${
    shown.length > 0 &&
    html`<table class="sheet rows">
<caption>Invitations that were not accepted</caption>
<thead><tr><th scope="col">For</th><th scope="col">By</th><th scope="col">State</th></tr></thead>
<tbody>
${shown.map((invitation) => row(invitation, page, known))}</tbody>
</table>`
  }${form(page, 'invite', fields)}`;
}

function row({ metadata: { name }, spec, status }: ShownInvitation, page: Forms, known: Content): Html {
  const { inviter, state, reason, expirationTimestamp } = status;
  const withdraw = html`${known}${hidden('id', name)}<p>The link is not valid any more then. This cannot be undone.</p>${button('Withdraw', name, 'danger')}`;
  return html`<tr><th scope="row">${breakable(spec.email ?? 'one user with the link')}${spec.role !== undefined && html`<span class="also">role ${spec.role}</span>`}</th><td data-label="by">${breakable(inviter)}</td><td>${state}<span class="also">${reason ?? html`until ${timeOf(expirationTimestamp, page)}`}</span></td></tr>
${state === 'open' && html`<tr class="more"><td colspan="3">${fold('Withdraw', name, form(page, 'withdraw', withdraw))}</td></tr>\n`}`;
}
