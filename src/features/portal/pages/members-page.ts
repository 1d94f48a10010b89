/**
 * The page "Members": who has which role in a namespace and from where, with forms that change it for those
 * who see where roles come from.
 */
import type { ShownInvitation } from '../../members/invitation-v1alpha1.ts';
import { FORCE_FIELD, type Member } from '../../members/member-v1alpha1.ts';
import { type Html, html } from '../html.ts';
import { chips } from './account-page.ts';
import {
  button,
  entering,
  type Forms,
  fold,
  form,
  hidden,
  outcome,
  select,
  textField,
  titleOf,
} from './form-parts.ts';
import { invitationLink, invitationsTable, inviteForm } from './invitation-page.ts';
import { type Frame, layout } from './layout.ts';

export interface MembersPage extends Forms {
  readonly frame: Frame;
  /** Those that the user sees. */
  readonly namespaces: readonly string[];
  /** Undefined until the user has chosen one. */
  readonly shown:
    | {
        readonly namespace: string;
        readonly members: readonly Member[];
        readonly notes: readonly string[];
        /** Undefined if the portal has none. */
        readonly invitations: readonly ShownInvitation[] | undefined;
      }
    | undefined;
}

/** The roles that can be given here, in words; each contains the one before. */
const ROLES = [
  ['read', 'read: sees everything but Secrets'],
  ['control', 'control: also restarts, scales and opens shells'],
  ['edit', 'edit: also changes everything but roles, with Secrets'],
  ['manage', 'manage: also gives roles'],
] as const;
const TYPES = [
  ['User', 'a user'],
  ['Team', 'a team'],
  ['Group', 'a group'],
  ['ServiceAccount', 'a service account'],
] as const;
/** The choice is part of the page. */
const MAX_NAMESPACES = 1_000;

export function membersPage(page: MembersPage): Html {
  const { frame, shown } = page;
  return layout({
    ...frame,
    title: titleOf(page, 'Members'),
    main: html`${mayBeForced(page) ? forceForm(page) : outcome(page, invitationLink)}
<h1>Members${shown && html` of <code>${shown.namespace}</code>`}</h1>
<p class="lead">Who has which role in a namespace</p>
${chooser(page)}
${
  shown &&
  html`<section class="card" aria-labelledby="list"><h2 id="list">Members</h2>
${shown.notes.map((note) => html`<p class="also">${note}</p>`)}
${table(shown.members, page)}</section>
${
  shown.members.some(({ status }) => status.from.length > 0) &&
  html`<section class="card" aria-labelledby="add"><h2 id="add">Give a role</h2>
${form(page, 'add', addFields(entering(page, 'add')))}</section>
${shown.invitations && invitationsCard(shown.invitations, page)}`
}`
}`,
  });
}

function chooser({ namespaces, shown }: MembersPage): Html {
  if (namespaces.length === 0) return html`<section class="card"><p>You see no namespace yet.</p></section>`;
  const choice = namespaces.slice(0, MAX_NAMESPACES).map((name) => [name, name] as const);
  return html`<div class="card"><form class="row" method="get" action="/members">
${select('namespace', 'Namespace', choice, shown?.namespace ?? '')}${button('Show', undefined, 'quiet')}</form></div>`;
}

function table(members: readonly Member[], page: MembersPage): Html {
  if (members.length === 0) return html`<p>No binding gives a role here.</p>`;
  return html`<table class="sheet rows">
<caption>An owner may give roles</caption>
<thead><tr><th scope="col">Member</th><th scope="col">Role</th><th scope="col">From</th></tr></thead>
<tbody>
${members.map((member) => row(member, page))}</tbody>
</table>`;
}

function row({ metadata, spec, status }: Member, page: MembersPage): Html {
  const { name: id } = metadata;
  const shownName = status.displayName ?? spec.name;
  const from = status.from.map(
    ({ kind, name, role }) => html`${kind === 'Team' ? 'team' : kind} <code>${name}</code>: ${role}`,
  );
  return html`<tr><th scope="row">${shownName}<span class="also">${spec.type}</span></th><td data-label="role"><strong>${spec.role}</strong>${status.owner && html` <span class="tag">owner</span>`}</td><td>${from.length > 0 && chips(from)}</td></tr>
${from.length > 0 && html`<tr class="more"><td colspan="3">${fold('Change or remove', shownName, changes(id, spec, shownName, page))}</td></tr>\n`}`;
}

function changes(
  id: string,
  { name, type, role }: Member['spec'],
  shownName: string,
  page: MembersPage,
): Html {
  const which = html`${hidden('id', id)}${hidden('name', name)}${hidden('type', type)}`;
  return html`${form(page, 'set', html`${which}<div class="row">${select('role', 'Role', ROLES, role, id)}${button('Change', shownName, 'quiet')}</div>`)}
${form(page, 'remove', html`${which}<p>They lose at once what role bindings of this namespace give them by name. What a team, a group or the whole cluster gives them stays.</p>${button('Remove', shownName, 'danger')}`)}`;
}

function addFields(page: MembersPage): Html {
  const { entered } = page;
  return html`${select('type', 'Who?', TYPES, entered.get('type') ?? '')}
${textField(page, { name: 'name', label: 'Name', hint: 'As in your tenant, such as alice; in full if it has a colon, such as oidc:alice. NAMESPACE:NAME of a service account. Whether there is such a name is not checked.', required: true })}
${select('role', 'Role', ROLES, entered.get('role') ?? '')}
${button('Give the role')}`;
}

function invitationsCard(invitations: readonly ShownInvitation[], page: MembersPage): Html {
  const chosen = entering(page, 'invite').entered.get('role') ?? '';
  return html`<section class="card" aria-labelledby="invite"><h2 id="invite">Invite someone</h2>
${invitationsTable(invitations, page)}
${inviteForm(page, select('role', 'Role', ROLES, chosen, '-invited'))}</section>`;
}

/** Whether the last form was refused only because the user did not insist on it. */
function mayBeForced({ refusal }: MembersPage): boolean {
  return refusal?.details?.causes?.some(({ field }) => field === FORCE_FIELD) === true;
}

function forceForm(page: MembersPage): Html {
  const { entered } = page;
  const fields = ['id', 'name', 'type', 'role'].map((name) => hidden(name, entered.get(name) ?? ''));
  return html`<div class="notice bad" role="alert" tabindex="-1" autofocus aria-labelledby="problem"><h2 id="problem">This was not done</h2>
<p>${entered.get('name') ?? ''} is the last one in this namespace who may give roles. Without another, only an administrator of the cluster can give roles here.</p>
${form(page, entered.get('do') ?? '', html`${fields}${hidden('force', 'true')}${button('Do it all the same', undefined, 'danger')}`)}</div>`;
}
