/**
 * The page "Members": who has which role in a namespace and from where, with forms that change it for those
 * who see where roles come from.
 */
import { type Content, type Html, html } from '../../lib/html.ts';
import {
  type Forms,
  type OwnRequest,
  type PortalPage,
  PortalProblem,
  type Visit,
} from '../../proxy/portal-page.ts';
import type { AddedForms } from '../added-forms.ts';
import {
  breakable,
  button,
  chips,
  entering,
  fold,
  form,
  hidden,
  MAX_ROWS,
  mistake,
  NOTHING_ENTERED,
  refusedForm,
  select,
  textField,
} from '../page-parts.ts';
import { filterForm, rowsOf } from '../page-rows.ts';
import { FORCE_FIELD, MEMBERS, type Member, memberSpecSchema, type RoleSource } from './member-v1alpha1.ts';
import type { MembersService } from './members-service.ts';

export type MemberSource = Omit<MembersService, 'grant'>;

const ROLE = {
  name: 'role',
  label: 'Role',
  // Each contains the one before.
  options: [
    ['read', 'read: sees everything but Secrets'],
    ['control', 'control: also restarts, scales and opens shells'],
    ['edit', 'edit: also changes everything but roles, with Secrets'],
    ['manage', 'manage: also adds members'],
  ],
} as const;
const TYPE = {
  name: 'type',
  label: 'Type',
  options: [
    ['User', 'a user'],
    ['Team', 'a team'],
    ['Group', 'a group'],
    ['ServiceAccount', 'a service account'],
  ],
} as const;

/** @param invite by which users of the page invite others to the namespace */
export function membersPage(source: MemberSource, invite: AddedForms): PortalPage {
  return {
    path: '/members',
    navigation: { label: 'Members', order: 2 },
    targets: /^\/members\?namespace=[a-z0-9-]{1,63}$/,
    standsFor: (query) => ({ verb: 'list', ...inNamespace(query) }),
    async preselect(page) {
      if (namespaceOf(page) !== '') return undefined;
      const { identity, account } = page;
      const namespaces = await source.namespaces(identity);
      const own = account.project?.namespace;
      const namespace = namespaces.find((name) => name === own) ?? namespaces[0];
      return namespace === undefined || namespaces.length > MAX_ROWS ? undefined : { namespace };
    },
    async show(page) {
      const { identity, refusal } = page;
      const namespaces = await source.namespaces(identity);
      const namespace = namespaceOf(page);
      if (namespace !== '' && !namespaces.includes(namespace))
        throw new PortalProblem({
          status: 404,
          title: 'There is no such namespace',
          text: 'Or there is, and you may not see it.',
          action: { label: 'Choose another', target: '/members' },
        });
      const mayBeForced = refusal?.details?.causes?.some(({ field }) => field === FORCE_FIELD) === true;
      return {
        title: 'Members',
        heading: namespace === '' ? 'Members' : html`Members of <code>${namespace}</code>`,
        lead: 'Who has which role in a namespace',
        main: html`${chooser(namespaces, namespace)}${namespace !== '' && (await membersOf(namespace, page, source, invite))}`,
        secret: invite.secret,
        question: mayBeForced ? forceForm(page) : undefined,
      };
    },
    actions: {
      add: (_, query) => ({ verb: 'create', ...inNamespace(query) }),
      set: (form, query) => ({ verb: 'update', ...inNamespace(query), name: form.get('id') ?? '' }),
      remove: (form, query) => ({ verb: 'delete', ...inNamespace(query), name: form.get('id') ?? '' }),
      ...invite.actions,
    },
    async act(entered, page) {
      const { identity, change } = page;
      const namespace = namespaceOf(page);
      const role = entered.get('role') ?? '';
      const invited = await invite.act(entered, { namespace, role }, page);
      if (invited !== undefined) return invited;
      const id = entered.get('id') ?? '';
      const name = (entered.get('name') ?? '').trim();
      const options = { ...change, force: entered.get('force') === 'true' };
      if (entered.get('do') === 'remove')
        return done(`${name} is removed.`, await source.remove(identity, namespace, id, options));
      const { data: spec } = memberSpecSchema.safeParse({ type: entered.get('type'), name, role });
      if (spec === undefined) throw mistake('Enter the name of the member.', 'name');
      const { notes } =
        entered.get('do') === 'set'
          ? await source.set(identity, namespace, id, spec, options)
          : await source.add(identity, namespace, spec, options);
      return done(`${name} has the role ${role}.`, { notes });
    },
  };
}

function inNamespace(query: URLSearchParams): Pick<OwnRequest, 'resource' | 'namespace'> {
  return { resource: MEMBERS, namespace: query.get('namespace') ?? '' };
}

function namespaceOf({ query }: Visit): string {
  return query.get('namespace') ?? '';
}

function done(text: string, { notes }: { readonly notes: readonly string[] }) {
  return { text: [text, ...notes.map((note) => `${note[0]?.toUpperCase()}${note.slice(1)}.`)].join(' ') };
}

function chooser(namespaces: readonly string[], chosen: string): Html {
  if (namespaces.length === 0) return html`<section class="card"><p>You see no namespace yet.</p></section>`;
  const choice =
    namespaces.length > MAX_ROWS
      ? textField(NOTHING_ENTERED, { name: 'namespace', label: 'Namespace', value: chosen })
      : select(NOTHING_ENTERED, {
          ...{ name: 'namespace', label: 'Namespace', chosen },
          options: namespaces.map((name) => [name, name] as const),
        });
  return html`<div class="card"><form class="row" method="get" action="/members">
${choice}${button('Show', undefined, 'quiet')}</form></div>`;
}

async function membersOf(
  namespace: string,
  page: Visit,
  source: MemberSource,
  invite: AddedForms,
): Promise<Html> {
  const { result: members, notes } = await source.list(page.identity, namespace);
  const mayChange = members.some(({ status }) => status.from.length > 0);
  const rows = rowsOf(page);
  const shown = rows.take(members, ({ spec, status }) => `${spec.name} ${status.displayName ?? ''}`);
  const inviting = mayChange && (await invite.load(page));
  const asked = select(entering(page, 'invite'), ROLE, '-invited');
  // Made first: all lists of the page have their rows then.
  const parts =
    inviting &&
    html`<section class="card" aria-labelledby="add"><h2 id="add">Add a member</h2>
${form(page, 'add', addFields(entering(page, 'add')))}</section>
<section class="card" aria-labelledby="invite"><h2 id="invite">Invite someone</h2>
${inviting({ namespace }, page, rows, asked)}</section>`;
  return html`${filterForm(page, rows.hint, namespace)}<section class="card" aria-labelledby="list"><h2 id="list">Members</h2>
${notes.map((note) => html`<p class="also">${note}</p>`)}
${members.length === 0 ? html`<p>No binding grants a role here.</p>` : table(shown, page)}</section>
${parts}`;
}

function table(members: readonly Member[], page: Forms): Html {
  return html`<table class="sheet rows">
<caption>An owner may add members</caption>
<thead><tr><th scope="col">Member</th><th scope="col">Role</th><th scope="col">From</th></tr></thead>
<tbody>
${members.map((member) => row(member, page))}</tbody>
</table>`;
}

function row({ metadata, spec, status }: Member, page: Forms): Html {
  const shownName = status.displayName ?? spec.name;
  const { from } = status;
  // The API has this word for what the user may not read.
  const isHidden = spec.role === 'another' && from.every(({ role }) => role !== spec.role);
  const role = isHidden
    ? html`<span class="muted">a role whose name you may not see</span>`
    : html`<strong>${breakable(spec.role)}</strong>`;
  return html`<tr><th scope="row">${breakable(shownName)}<span class="also">${spec.type}</span></th><td data-label="role">${role}${status.owner && html` <span class="tag">owner</span>`}</td><td>${from.length > 0 && chips(from.map(sourceOf))}</td></tr>
${from.length > 0 && html`<tr class="more"><td colspan="3">${fold('Change or remove', shownName, changes(metadata.name, spec, shownName, page))}</td></tr>\n`}`;
}

/** Names of bindings that Stonegate has created. */
const GENERATED = /^(?:member:|stonegate-[0-9a-f]{40}$)/;

/** Where a role comes from. A name that no user has chosen is folded. */
function sourceOf({ kind, name, role }: RoleSource): Content {
  if (kind === 'Team') return html`team ${breakable(name)}: ${role}`;
  const shown = html`<code>${breakable(name)}</code>`;
  return GENERATED.test(name)
    ? html`<details class="inline"><summary>${kind}: ${role}</summary>${shown}</details>`
    : html`${kind} ${shown}: ${role}`;
}

function changes(id: string, { name, type, role }: Member['spec'], shownName: string, page: Forms): Html {
  const which = html`${hidden('id', id)}${hidden('name', name)}${hidden('type', type)}`;
  const changed = page.entered.get('id') === id ? entering(page, 'set') : NOTHING_ENTERED;
  return html`${form(page, 'set', html`${which}<div class="row">${select(changed, { ...ROLE, chosen: role }, id)}${button('Change', shownName, 'quiet')}</div>`)}
${form(page, 'remove', html`${which}<p>They lose at once the roles that role bindings of this namespace grant to them by name. What they have from a team, a group or the whole cluster stays.</p>${button('Remove', shownName, 'danger')}`)}`;
}

function addFields(page: Forms): Html {
  return html`${select(page, TYPE)}
${textField(page, { name: 'name', label: 'Name', hint: 'As in your tenant, such as alice; in full if it has a colon, such as oidc:alice. NAMESPACE:NAME of a service account. Whether there is such a name is not checked.', required: true })}
${select(page, ROLE)}
${button('Add the member')}`;
}

/** Asks the user to confirm a change after which no member may add others. */
function forceForm(page: Forms): Html {
  const { entered } = page;
  const fields = ['id', 'name', 'type', 'role'].map((name) => hidden(name, entered.get(name) ?? ''));
  return refusedForm(
    `${entered.get('name')} is the last one in this namespace who may add members. Without another, only an administrator of the cluster can add members here.`,
    form(
      page,
      entered.get('do') ?? '',
      html`${fields}${hidden('force', 'true')}${button('Do it anyway', undefined, 'danger')}`,
    ),
  );
}
