/**
 * The page "Teams": the teams of the user with the users in them, and forms for those who manage them.
 */
import type { ShownInvitation } from '../../members/invitation-v1alpha1.ts';
import type { ShownTeam } from '../../members/team-v1alpha1.ts';
import { type Html, html } from '../html.ts';
import {
  button,
  checkbox,
  entering,
  type Forms,
  fold,
  form,
  hidden,
  outcome,
  textField,
  titleOf,
} from './form-parts.ts';
import { invitationLink, invitationsTable, inviteForm } from './invitation-page.ts';
import { type Frame, layout } from './layout.ts';

export interface TeamsPage extends Forms {
  readonly frame: Frame;
  readonly teams: readonly ShownTeam[];
  /** The user, as teams name them. */
  readonly username: string;
  readonly mayCreate: boolean;
  /** Undefined if the portal has none. */
  readonly invitations: readonly ShownInvitation[] | undefined;
}

export function teamsPage(page: TeamsPage): Html {
  const { frame, teams, mayCreate } = page;
  const made = entering(page, 'create');
  return layout({
    ...frame,
    title: titleOf(page, 'Teams'),
    main: html`${outcome(page, invitationLink)}
<h1>Teams</h1>
<p class="lead">A role that a namespace gives to a team is the role of everyone in it</p>
${teams.length === 0 && html`<section class="card"><p>You are in no team.</p></section>`}
${teams.map((team) => card(team, page))}
${
  mayCreate &&
  html`<section class="card" aria-labelledby="new"><h2 id="new">Make a team</h2>
${form(
  page,
  'create',
  html`${textField(page, { name: 'team', label: 'Name', hint: 'Lower-case letters, digits and dashes.', required: true })}
${textField(made, { name: 'description', label: 'What is it for?' })}
${button('Make the team')}`,
)}</section>`
}`,
  });
}

function card({ metadata: { name }, spec, status }: ShownTeam, page: TeamsPage): Html {
  const { members, managers, description = '' } = spec;
  const { invitations } = page;
  const isManager = managers.includes(page.username);
  const users = [...new Set([...managers, ...members])].sort();
  return html`<section class="card" aria-labelledby="team-${name}"><h2 id="team-${name}">${name}</h2>
${description !== '' && html`<p>${description}</p>`}
<p class="muted">Role bindings name it as the group <code>${status.group}</code></p>
<table class="sheet rows">
<caption>Managers may change the team; only members are in its group</caption>
<thead><tr><th scope="col">Who</th><th scope="col">In the team as</th>${isManager && html`<th scope="col">Change</th>`}</tr></thead>
<tbody>
${users.map((username) => row(username, name, spec, isManager, page))}</tbody>
</table>
${isManager && fold('Add someone', name, addForm(name, page))}
${isManager && invitations !== undefined && fold('Invite by a link', name, inviteParts(name, invitations, page))}</section>`;
}

function inviteParts(name: string, invitations: readonly ShownInvitation[], page: TeamsPage): Html {
  const team = hidden('team', name);
  const own = invitations.filter(({ spec }) => spec.team === name);
  return html`${invitationsTable(own, page, team)}${inviteForm(page, team, `-${name}`)}`;
}

function row(
  username: string,
  team: string,
  { members, managers }: ShownTeam['spec'],
  isManager: boolean,
  page: TeamsPage,
): Html {
  const parts = [members.includes(username) && 'member', managers.includes(username) && 'manager'].filter(
    Boolean,
  );
  const remove = html`${hidden('team', team)}${hidden('username', username)}<p>They lose at once what roles of the team give them.</p>${button('Remove', username, 'danger')}`;
  return html`<tr><th scope="row">${username}${username === page.username && html` <span class="tag">you</span>`}</th><td>${parts.join(', ')}</td>${isManager && html`<td>${fold('Remove', username, form(page, 'remove', remove))}</td>`}</tr>
`;
}

function addForm(team: string, whole: TeamsPage): Html {
  const isOfTeam = whole.entered.get('team') === team;
  const page = entering(whole, isOfTeam ? 'add' : '');
  return form(
    page,
    'add',
    html`${hidden('team', team)}
${textField(page, { name: 'username', label: 'User', hint: 'As in your tenant, such as alice; in full if it has a colon. Whether there is such a user is not checked.', required: true }, `-${team}`)}
<fieldset><legend>As what?</legend>
${checkbox(page, 'manager', 'true', 'Also as a manager, who may change the team')}</fieldset>
${button('Add', `to ${team}`)}`,
  );
}
