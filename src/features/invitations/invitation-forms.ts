/**
 * The forms on the pages of members and teams by which users invite: invitations that wait, and a form that
 * creates a link.
 */
import { type Content, type Html, html } from '../../lib/html.ts';
import { formatTime } from '../../lib/times-in-words.ts';
import type { Forms } from '../../proxy/portal-page.ts';
import type { AddedForms } from '../added-forms.ts';
import {
  breakable,
  button,
  copied,
  entering,
  fold,
  form,
  hidden,
  mistake,
  textField,
  timeOf,
} from '../page-parts.ts';
import { invitationSpecSchema, OWN_INVITATIONS, type ShownInvitation } from './invitation-v1alpha1.ts';
import type { Invitations } from './invitations.ts';

/** @param invitations which users see who may invite */
export function inviteForms(invitations: Pick<Invitations, 'list' | 'invite' | 'withdraw'>): AddedForms {
  return {
    actions: {
      invite: () => ({ verb: 'create', resource: OWN_INVITATIONS }),
      withdraw: (form) => ({ verb: 'delete', resource: OWN_INVITATIONS, name: form.get('id') ?? '' }),
    },
    secret: (link) => copied('The link', link),
    async act(entered, target, { identity, change, now }) {
      const action = entered.get('do');
      if (action === 'withdraw') {
        await invitations.withdraw(identity, entered.get('id') ?? '', change);
        return { text: 'The invitation is withdrawn.' };
      }
      if (action !== 'invite') return undefined;
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
    },
    async load({ identity }) {
      const listed = await invitations.list(identity);
      const pending = listed.filter(({ status: { state } }) => state === 'open' || state === 'refused');
      return ({ namespace, team }, page, rows, asked) => {
        const own = pending.filter(({ spec }) => spec.namespace === namespace && spec.team === team);
        const known = team !== undefined && hidden('team', team);
        const fields = html`<p>You get a link to send to one user of your tenant. It is valid once, for seven days, as long as you may grant that yourself.</p>
${known}${asked}
${textField(entering(page, 'invite'), EMAIL, team && `-${team}`)}
${button('Create a link')}`;
        const shown = rows.take(own, ({ spec, status }) => `${spec.email ?? ''} ${status.inviter}`);
        return html`${shown.length > 0 && table(shown, page, known)}${form(page, 'invite', fields)}`;
      };
    },
  };
}

const EMAIL = {
  name: 'email',
  type: 'email',
  label: 'E-mail address',
  hint: 'If you enter one, the link is valid only for a user whose sign-in proves this address.',
} as const;

function table(shown: readonly ShownInvitation[], page: Forms, known: Content): Html {
  return html`<table class="sheet rows">
<caption>Invitations that were not accepted</caption>
<thead><tr><th scope="col">For</th><th scope="col">By</th><th scope="col">State</th></tr></thead>
<tbody>
${shown.map((invitation) => row(invitation, page, known))}</tbody>
</table>`;
}

function row({ metadata: { name }, spec, status }: ShownInvitation, page: Forms, known: Content): Html {
  const { inviter, state, reason, expirationTimestamp } = status;
  const withdraw = html`${known}${hidden('id', name)}<p>The link is not valid any more then. This cannot be undone.</p>${button('Withdraw', name, 'danger')}`;
  return html`<tr><th scope="row">${breakable(spec.email ?? 'one user with the link')}${spec.role !== undefined && html`<span class="also">role ${spec.role}</span>`}</th><td data-label="by">${breakable(inviter)}</td><td>${state}<span class="also">${reason ?? html`until ${timeOf(expirationTimestamp, page)}`}</span></td></tr>
${state === 'open' && html`<tr class="more"><td colspan="3">${fold('Withdraw', name, form(page, 'withdraw', withdraw))}</td></tr>\n`}`;
}
