/**
 * The page "What you may do": the user's roles, and a matrix of kinds and verbs for each set of namespaces
 * with equal rules. On a phone each row of a matrix becomes a list of verbs.
 */
import { type Content, type Html, html } from '../../lib/html.ts';
import type { PageAccount, PortalPage } from '../../proxy/portal-page.ts';
import type { HeldRoles } from '../../rbac/held-roles.ts';
import type { Identity } from '../../tenancy/identity.ts';
import { chips, described, list } from '../page-parts.ts';
import { filterForm } from '../page-rows.ts';
import {
  type AccessMatrix,
  MATRIX_VERBS,
  type MatrixGroup,
  type MatrixRow,
  shortened,
} from './access-matrix.ts';
import { SELF_ACCESS_RULES } from './access-rules-v1alpha1.ts';

/** Computes from the RBAC index what a user may do. */
export interface AccessView extends HeldRoles {
  readonly matrix: AccessMatrix;
  readonly incompleteReason: string | undefined;
}

/** @param accessOf a user; with what names of namespaces contain, empty for all rights */
export function accessPage(
  accessOf: (identity: Identity, filter: string) => Promise<AccessView>,
): PortalPage {
  return {
    path: '/access',
    navigation: { label: 'Access', order: 1 },
    standsFor: () => ({ verb: 'list', resource: SELF_ACCESS_RULES }),
    async show(page) {
      const { identity, account, filter } = page;
      const access = await accessOf(identity, filter.toLowerCase());
      const { groups, moreGroups } = access.matrix;
      const { incompleteReason } = access;
      const projects = projectsByNamespace(account);
      return {
        title: 'What you may do',
        lead: html`as <code>${account.username}</code> in <span class="tag">${account.tenant}</span>`,
        main: html`${incompleteReason !== undefined && html`<div class="notice bad" role="status"><p>This may be incomplete: ${incompleteReason}.</p></div>`}
${rolesCard(account, access, projects)}
${filterForm(page, moreGroups === 0 ? undefined : `${moreGroups} more sets of namespaces are left out: enter a part of a namespace's name, or see what "stonegate access" prints.`)}
${groups.length === 0 ? html`<section class="card"><p>${noRights(filter, incompleteReason)}</p></section>` : groups.map((group, at) => matrixCard(group, at, groups.length > CARDS_SHOWN, projects))}`,
      };
    },
  };
}

function noRights(filter: string, incompleteReason: string | undefined): string {
  if (filter !== '')
    return 'You have no rights in a namespace with this in its name, beyond those that you have everywhere.';
  return incompleteReason === undefined
    ? 'You have no rights in this cluster yet.'
    : 'No right of yours in this cluster is known at the moment.';
}

/** The name of a namespace's project, unless the namespace has that name too. */
type Projects = ReadonlyMap<string, string>;

function projectsByNamespace({ project, otherProjects }: PageAccount): Projects {
  return new Map(
    [...(project === undefined ? [] : [project]), ...otherProjects].flatMap(({ name, namespace }) =>
      namespace === undefined || namespace === name ? [] : [[namespace, name]],
    ),
  );
}

function rolesCard({ project, roles }: PageAccount, access: AccessView, projects: Projects): Html {
  return html`<section class="card" aria-labelledby="roles">
<h2 id="roles">Your roles</h2>
<dl>
${roles.length > 0 && described(project === undefined ? 'In Keystone' : html`On project ${project.name}`, list(roles))}
${access.roles.map(({ kind, name, everywhere, namespaces }) =>
  described(
    html`<code>${shortened(name, CHARACTERS_SHOWN)}</code> <span class="muted">${kind}</span>`,
    html`${everywhere && 'everywhere'}${namespaces.length > 0 && someNames(namespaces, projects)}`,
  ),
)}
${access.roles.length === 0 && roles.length === 0 && access.hiddenRoles === 0 && described('Roles', html`<span class="muted">none</span>`)}
${access.hiddenRoles > 0 && described('Others', hiddenRoles(access.hiddenRoles))}
${access.moreRoles > 0 && described('More', html`<span class="muted">${access.moreRoles} more roles</span>`)}
</dl>
</section>`;
}

function hiddenRoles(count: number): string {
  return count === 1
    ? 'One more role. You may not read its name; what it allows is included on this page.'
    : `${count} more roles. You may not read their names; what they allow is included on this page.`;
}

/** Namespaces that a cell names. */
const NAMES_SHOWN = 5;
/** Characters of a role's name. */
const CHARACTERS_SHOWN = 80;

function someNames(names: readonly string[], projects: Projects): Html {
  const more = names.length - NAMES_SHOWN;
  const shown = names.slice(0, NAMES_SHOWN).map((name) => {
    const project = projects.get(name);
    return project === undefined ? html`<code>${name}</code>` : html`project ${project}`;
  });
  return html`${chips(shown)}${more > 0 && html`<p class="also">and ${more} more</p>`}`;
}

/** More are folded: a user may have other rights in each of hundreds of namespaces. */
const CARDS_SHOWN = 6;

function matrixCard(group: MatrixGroup, at: number, isFolded: boolean, projects: Projects): Html {
  const title = html`<h2 id="place-${at}">${titleOf(group, projects)}</h2>`;
  return isFolded
    ? html`<details class="card"><summary>${title}</summary>
${matrix(group, projects)}
</details>`
    : html`<section class="card" aria-labelledby="place-${at}">
${title}
${matrix(group, projects)}
</section>`;
}

function matrix(group: MatrixGroup, projects: Projects): Html {
  return html`${group.scope === 'namespaces' && group.names.length > 1 && someNames(group.names, projects)}
<table class="sheet matrix">
<caption>Kinds and verbs${group.rows.some(isLimited) && '; (✔) is access to the named objects only'}</caption>
<thead><tr><th scope="col">Kind</th>${MATRIX_VERBS.map((verb) => html`<th scope="col">${verb}</th>`)}</tr></thead>
<tbody>
${group.rows.map(matrixRow)}</tbody>
</table>${group.moreRows > 0 && html`<p class="also">${group.moreRows} more kinds: <code>stonegate access</code> shows all.</p>`}`;
}

function isLimited({ cells }: MatrixRow): boolean {
  return MATRIX_VERBS.some((verb) => cells[verb] === 'named');
}

function titleOf({ scope, names }: MatrixGroup, projects: Projects): Content {
  switch (scope) {
    case 'everywhere':
      return 'Everywhere';
    case 'cluster':
      return 'Outside of namespaces';
    case 'otherNamespaces':
      return 'In all other namespaces';
    case 'namespaces': {
      const [name = ''] = names;
      const project = projects.get(name);
      if (names.length > 1) return `In ${names.length} namespaces`;
      if (project === undefined) return html`In namespace <code>${name}</code>`;
      return html`In the namespace of project ${project}<code class="also">${name}</code>`;
    }
  }
}

const SIGNS = { all: html`<span class="yes">✔</span>`, named: html`<span class="yes">(✔)</span>`, none: '' };

/** A long name breaks before a dot, if it can. `*` is said in words too. */
function kindCell(kind: string): Html {
  const [resource = '', ...group] = kind.split('.');
  const every = group.length === 0 ? 'every kind' : `every kind of ${group.join('.')}`;
  return html`<code>${resource}${group.map((label) => html`<wbr>.${label}`)}</code>${resource === '*' && html`<span class="also">${every}</span>`}`;
}

function matrixRow({ kind, cells, otherVerbs, names }: MatrixRow): Html {
  return html`<tr><th scope="row">${kindCell(kind)}${otherVerbs.length > 0 && html`<span class="also">also ${otherVerbs.map((verb) => (verb === '*' ? 'all other verbs' : verb)).join(', ')}</span>`}${names.length > 0 && html`<span class="also">named ${names.join(', ')}</span>`}</th>${MATRIX_VERBS.map((verb) => html`<td data-verb="${verb}">${SIGNS[cells[verb]]}</td>`)}</tr>
`;
}
