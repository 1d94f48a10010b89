/**
 * The page of a namespace's members and what its forms do.
 */
import type { MembersService } from '../members/feature.ts';
import { memberSpecSchema } from '../members/member-v1alpha1.ts';
import { actOnInvitations, invitationsTo } from './invitation-handlers.ts';
import { membersPage } from './pages/members-page.ts';
import { noNamespace } from './problem.ts';
import { MEMBERS, type PortalRequest } from './request.ts';
import { mistake, userPage } from './user-page.ts';

export const MEMBERS_PAGE = userPage<MembersService>({
  path: MEMBERS,
  sourceOf: ({ members }) => members,
  async show(visit) {
    const { source, identity } = visit;
    const namespaces = await source.namespaces(identity);
    const namespace = namespaceOf(visit.request);
    if (namespace === '') return membersPage({ ...visit, namespaces, shown: undefined });
    if (!namespaces.includes(namespace)) throw noNamespace();
    const { result: members, notes } = await source.list(identity, namespace);
    const invitations = await invitationsTo((to) => to.namespace === namespace, visit);
    return membersPage({ ...visit, namespaces, shown: { namespace, members, notes, invitations } });
  },
  async act(form, visit) {
    const { source, identity, change, request } = visit;
    const namespace = namespaceOf(request);
    const id = form.get('id') ?? '';
    const name = form.get('name') ?? '';
    const role = form.get('role') ?? '';
    const invited = await actOnInvitations(form, { namespace, role }, visit);
    if (invited !== undefined) return invited;
    const options = { ...change, force: form.get('force') === 'true' };
    const removes = form.get('do') === 'remove';
    const { data: spec } = memberSpecSchema.safeParse({ type: form.get('type'), name: name.trim(), role });
    if (removes) return done(`${name} is removed.`, await source.remove(identity, namespace, id, options));
    if (spec === undefined) throw mistake('Enter the name of the member.');
    const { notes } =
      form.get('do') === 'set'
        ? await source.set(identity, namespace, id, spec, options)
        : await source.add(identity, namespace, spec, options);
    return done(`${spec.name} has the role ${role}.`, { notes });
  },
});

function namespaceOf({ query }: PortalRequest): string {
  return query.get('namespace') ?? '';
}

function done(text: string, { notes }: { readonly notes: readonly string[] }) {
  return { text: [text, ...notes.map((note) => `${note[0]?.toUpperCase()}${note.slice(1)}.`)].join(' ') };
}
