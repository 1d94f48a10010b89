/**
 * The page "Members": who has which role in a namespace and from where, with forms that change it for those
 * who see where roles come from.
 */
import type { OwnRequest } from '../../../proxy/session-request.ts';
import {
  FORCE_FIELD,
  type Member,
  memberSpecSchema,
  MEMBERS as OWN_MEMBERS,
  type RoleSource,
} from '../../members/member-v1alpha1.ts';
import { accountOf } from '../account.ts';
import type { MemberSource } from '../context.ts';
import { type Content, type Html, html } from '../html.ts';
import { noNamespace } from '../problem.ts';
import { MEMBERS } from '../request.ts';
import { mistake, userPage, type Visit } from '../user-page.ts';
import {
  actOnInvitations,
  INVITATION_ACTIONS,
  invitationLink,
  inviteParts,
  pendingInvitations,
} from './invitation-parts.ts';
import {
  breakable,
  button,
  chips,
  entering,
  type Forms,
  fold,
  form,
  hidden,
  MAX_ROWS,
  NOTHING_ENTERED,
  refusedForm,
  select,
  textField,
} from './page-parts.ts';
import { filterForm, type Rows, rowsOf } from './rows.ts';

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

export const MEMBERS_PAGE = userPage<MemberSource>({
  path: MEMBERS,
  standsFor: (query) => ({ verb: 'list', ...inNamespace(query) }),
  sourceOf: ({ members }) => members,
  async preselect(page) {
    if (namespaceOf(page) !== '') return undefined;
    const namespaces = await page.source.namespaces(page.identity);
    const own = accountOf(page.session, page.context).project?.namespace;
    const namespace = namespaces.find((name) => name === own) ?? namespaces[0];
    return namespace === undefined || namespaces.length > MAX_ROWS ? undefined : { namespace };
  },
  async show(page) {
    const { source, identity, refusal } = page;
    const namespaces = await source.namespaces(identity);
    const namespace = namespaceOf(page);
    if (namespace !== '' && !namespaces.includes(namespace)) throw noNamespace();
    const mayBeForced = refusal?.details?.causes?.some(({ field }) => field === FORCE_FIELD) === true;
    return {
      title: 'Members',
      heading: namespace === '' ? 'Members' : html`Members of <code>${namespace}</code>`,
      lead: 'Who has which role in a namespace',
      main: html`${chooser(namespaces, namespace)}${namespace !== '' && (await membersOf(namespace, page))}`,
      secret: invitationLink,
      question: mayBeForced ? forceForm(page) : undefined,
    };
  },
  actions: {
    add: (_, query) => ({ verb: 'create', ...inNamespace(query) }),
    set: (form, query) => ({ verb: 'update', ...inNamespace(query), name: form.get('id') ?? '' }),
    remove: (form, query) => ({ verb: 'delete', ...inNamespace(query), name: form.get('id') ?? '' }),
    ...INVITATION_ACTIONS,
  },
  async act(entered, page) {
    const { source, identity, change } = page;
    const namespace = namespaceOf(page);
    const role = entered.get('role') ?? '';
    const invited = await actOnInvitations(entered, { namespace, role }, page);
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
});

function inNamespace(query: URLSearchParams): Pick<OwnRequest, 'resource' | 'namespace'> {
  return { resource: OWN_MEMBERS, namespace: query.get('namespace') ?? '' };
}

function namespaceOf({ query }: Visit<unknown>): string {
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

async function membersOf(namespace: string, page: Visit<MemberSource>): Promise<Html> {
  const { result: members, notes } = await page.source.list(page.identity, namespace);
  const mayChange = members.some(({ status }) => status.from.length > 0);
  const rows = rowsOf(page);
  const shown = rows.take(members, ({ spec, status }) => `${spec.name} ${status.displayName ?? ''}`);
  const parts = mayChange && (await addParts(namespace, page, rows));
  return html`${filterForm(page, rows.hint, namespace)}<section class="card" aria-labelledby="list"><h2 id="list">Members</h2>
${notes.map((note) => html`<p class="also">${note}</p>`)}
${members.length === 0 ? html`<p>No binding grants a role here.</p>` : table(shown, page)}</section>
${parts}`;
}

async function addParts(namespace: string, page: Visit<MemberSource>, rows: Rows): Promise<Html> {
  const pending = await pendingInvitations(page);
  const asked = select(entering(page, 'invite'), ROLE, '-invited');
  return html`<section class="card" aria-labelledby="add"><h2 id="add">Add a member</h2>
${form(page, 'add', addFields(entering(page, 'add')))}</section>
<section class="card" aria-labelledby="invite"><h2 id="invite">Invite someone</h2>
${inviteParts(
  pending.filter(({ spec }) => spec.namespace === namespace),
  page,
  { asked, rows },
)}</section>`;
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
