/**
 * The page "Teams": the teams of the user with the users in them, and forms for those who manage them.
 */
import { labelProblem } from '../../kubernetes/reserved-names.ts';
import { type Html, html } from '../../lib/html.ts';
import type { Forms, OwnRequest, PortalPage } from '../../proxy/portal-page.ts';
import type { AddedForms, ShowForms } from '../added-forms.ts';
import {
  breakable,
  button,
  checkbox,
  entering,
  fold,
  form,
  hidden,
  mistake,
  textField,
} from '../page-parts.ts';
import { filterForm, type Rows, rowsOf } from '../page-rows.ts';
import { OWN_TEAMS, type ShownTeam } from './team-v1alpha1.ts';
import type { Teams } from './teams.ts';

/** Only the public members: a test gives an object of its own. */
export type TeamSource = Pick<Teams, keyof Teams>;

/** @param invite by which managers invite others to the team */
export function teamsPage(teams: TeamSource, invite: AddedForms): PortalPage {
  return {
    path: '/teams',
    navigation: { label: 'Teams', order: 3 },
    standsFor: () => ({ verb: 'list', resource: OWN_TEAMS }),
    async show(page) {
      const caller = await teams.callerOf(page.identity);
      const { username } = caller.user;
      const [all, mayCreate] = await Promise.all([teams.list(caller), teams.mayCreate(caller)]);
      const inviting = await invite.load(page);
      const rows = rowsOf(page);
      const shown = rows.take(all, ({ metadata, spec }) => [metadata.name, ...usersOf(spec)].join(' '));
      const cards = shown.map((team) => card(team, { viewer: username, inviting, rows }, page));
      return {
        title: 'Teams',
        lead: 'What a role binding grants to a team, it grants to every member of the team',
        secret: invite.secret,
        main: html`${all.length === 0 && html`<section class="card"><p>You are in no team.</p></section>`}
${filterForm(page, rows.hint)}
${cards}
${
  mayCreate &&
  html`<section class="card" aria-labelledby="new"><h2 id="new">Create a team</h2>
${form(
  page,
  'create',
  html`${textField(entering(page, 'create'), { name: 'team', label: 'Name', hint: 'Lower-case letters, digits and dashes.', required: true })}
${textField(entering(page, 'create'), { name: 'description', label: 'What is it for?' })}
${button('Create the team')}`,
)}</section>`
}`,
      };
    },
    actions: {
      create: (form) => ({ verb: 'create', resource: OWN_TEAMS, name: form.get('team') ?? '' }),
      add: updatesTeam,
      remove: updatesTeam,
      ...invite.actions,
    },
    async act(entered, page) {
      const name = entered.get('team') ?? '';
      const invited = await invite.act(entered, { team: name }, page);
      if (invited !== undefined) return invited;
      const caller = await teams.callerOf(page.identity);
      if (entered.get('do') === 'create') {
        const description = (entered.get('description') ?? '').trim();
        const spec = { ...(description !== '' && { description }) };
        if (labelProblem(name) !== undefined)
          throw mistake('Enter a name of lower-case letters, digits and dashes for the team.', 'team');
        await teams.create(caller, { name, spec, isDryRun: false });
        return { text: `The team ${name} is created. You manage it; add its members.` };
      }
      const { metadata, spec } = await teams.get(caller, name);
      const username = (entered.get('username') ?? '').trim();
      if (username === '') throw mistake('Enter the name of the user.', 'username');
      const adds = entered.get('do') === 'add';
      const changed = (names: readonly string[], isAdded: boolean) =>
        adds ? [...names, ...(isAdded ? [username] : [])] : names.filter((each) => each !== username);
      const members = changed(spec.members, true);
      const managers = changed(spec.managers, entered.has('manager'));
      await teams.update(caller, {
        name,
        spec: { ...spec, members, managers },
        resourceVersion: metadata.resourceVersion,
        isDryRun: false,
      });
      return {
        text: adds
          ? `${username} is in the team ${name}.`
          : `${username} is not in the team ${name} any more.`,
      };
    },
  };
}

function updatesTeam(form: URLSearchParams): OwnRequest {
  return { verb: 'update', resource: OWN_TEAMS, name: form.get('team') ?? '' };
}

function card(
  { metadata: { name }, spec, status }: ShownTeam,
  { viewer, inviting, rows }: { viewer: string; inviting: ShowForms; rows: Rows },
  page: Forms,
): Html {
  const { managers, description = '' } = spec;
  const isManager = managers.includes(viewer);
  const users = rows.take(usersOf(spec), (username) => `${name} ${username}`);
  return html`<section class="card" aria-labelledby="team-${name}"><h2 id="team-${name}">${name}</h2>
${description !== '' && html`<p>${description}</p>`}
<p class="muted">Role bindings name it as the group <code>${breakable(status.group)}</code></p>
<table class="sheet rows">
<caption>Managers may change the team; only members are in its group</caption>
<thead><tr><th scope="col">Who</th><th scope="col">In the team as</th>${isManager && html`<th scope="col">Change</th>`}</tr></thead>
<tbody>
${users.map((username) => row(username, viewer, { name, spec, isManager }, page))}</tbody>
</table>
${isManager && fold('Add someone', name, addForm(name, page))}
${isManager && fold('Invite by a link', name, inviting({ team: name }, page, rows))}</section>`;
}

function usersOf({ managers, members }: ShownTeam['spec']): string[] {
  return [...new Set([...managers, ...members])].sort();
}

function row(
  username: string,
  viewer: string,
  { name, spec, isManager }: { name: string; spec: ShownTeam['spec']; isManager: boolean },
  page: Forms,
): Html {
  const parts = [spec.members.includes(username) && 'member', spec.managers.includes(username) && 'manager'];
  const remove = html`${hidden('team', name)}${hidden('username', username)}<p>They lose at once what the team may do.</p>${button('Remove', username, 'danger')}`;
  return html`<tr><th scope="row">${breakable(username)}${username === viewer && html` <span class="tag">you</span>`}</th><td>${parts.filter(Boolean).join(', ')}</td>${isManager && html`<td>${fold('Remove', username, form(page, 'remove', remove))}</td>`}</tr>
`;
}

function addForm(team: string, whole: Forms): Html {
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
