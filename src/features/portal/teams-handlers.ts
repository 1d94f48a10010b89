/**
 * The page of the user's teams and what its forms do.
 */
import type { TeamSource } from './context.ts';
import { actOnInvitations, invitationsTo } from './invitation-handlers.ts';
import { teamsPage } from './pages/teams-page.ts';
import { TEAMS } from './request.ts';
import { mistake, userPage } from './user-page.ts';

export const TEAMS_PAGE = userPage<TeamSource>({
  path: TEAMS,
  sourceOf: ({ teams }) => teams,
  async show(visit) {
    const { source, identity } = visit;
    const caller = await source.callerOf(identity);
    const [teams, mayCreate] = await Promise.all([source.teams.list(caller), source.teams.mayCreate(caller)]);
    const invitations = await invitationsTo((to) => to.team !== undefined, visit);
    return teamsPage({ ...visit, teams, mayCreate, invitations, username: caller.user.username });
  },
  async act(form, visit) {
    const { source, identity } = visit;
    const { teams, callerOf } = source;
    const invited = await actOnInvitations(form, { team: form.get('team') ?? '' }, visit);
    if (invited !== undefined) return invited;
    const caller = await callerOf(identity);
    const name = form.get('team') ?? '';
    const description = (form.get('description') ?? '').trim();
    if (form.get('do') === 'create') {
      const spec = { ...(description !== '' && { description }) };
      await teams.create(caller, { name, spec, isDryRun: false });
      return { text: `The team ${name} was made. You manage it; add its members.` };
    }
    const { metadata, spec } = await teams.get(caller, name);
    const username = (form.get('username') ?? '').trim();
    if (username === '') throw mistake('Enter the name of the user.');
    const adds = form.get('do') === 'add';
    const changed = (names: readonly string[], isAdded: boolean) =>
      adds ? [...names, ...(isAdded ? [username] : [])] : names.filter((each) => each !== username);
    const members = changed(spec.members, true);
    const managers = changed(spec.managers, form.has('manager'));
    await teams.update(caller, {
      name,
      spec: { ...spec, members, managers },
      resourceVersion: metadata.resourceVersion,
      isDryRun: false,
    });
    return {
      text: adds ? `${username} is in the team ${name}.` : `${username} is not in the team ${name} any more.`,
    };
  },
});
