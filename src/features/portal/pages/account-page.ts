/**
 * The start page: how to set up kubectl, and the user's identity in Kubernetes.
 */
import { type Html, html } from '../../../lib/html.ts';
import { SELF_IDENTITY } from '../../explain/stonegate-v1alpha1.ts';
import { chips, described, list, MAX_ROWS, timeOf } from '../../page-parts.ts';
import type { Account } from '../account.ts';
import type { OwnPage } from '../context.ts';
import { HOME } from '../request.ts';
import { setUp } from './set-up.ts';

/** Groups shown unfolded: a user may have hundreds. */
const GROUPS_SHOWN = 12;

export const ACCOUNT_PAGE: OwnPage = {
  path: HOME,
  navigation: { label: 'Account', order: 0 },
  standsFor: () => ({ verb: 'list', resource: SELF_IDENTITY }),
  show(page) {
    const { account, context, request } = page;
    const { project, domain, issuer, roles, otherProjects, expiresAt } = account;
    const { providers, keystone } = context;
    const provider = providers.find((each) => each.issuer === issuer);
    const signedInWith =
      issuer === undefined ? (keystone?.displayName ?? 'Keystone') : (provider?.displayName ?? issuer);
    return {
      title: 'Your account',
      heading: account.name,
      lead: html`signed in with ${signedInWith}${domain !== undefined && html`, domain ${domain}`}`,
      main: html`${setUp(request, context, provider)}
<details class="card"><summary><h2>Who you are to Kubernetes</h2></summary>
<dl>
${described('Tenant', html`<span class="tag">${account.tenant}</span>`)}
${described('User name', html`<code>${account.username}</code>`)}
${domain !== undefined && described('Project', project?.name ?? html`<span class="muted">none: you have signed in without one</span>`)}
${project?.namespace !== undefined && described('Namespace', html`<code>${project.namespace}</code>`)}
${domain !== undefined && described('Roles', roles.length === 0 ? html`<span class="muted">none</span>` : list(roles))}
${otherProjects.length > 0 && described('Other projects', projects(otherProjects.map(({ name }) => name)))}
${described('Groups', groups(account.groups))}
${described('Signed in until', timeOf(expiresAt, page))}
</dl>
</details>`,
    };
  },
};

function projects(names: readonly string[]): Html {
  const more = names.length - MAX_ROWS;
  return html`${list(names.slice(0, MAX_ROWS))}${more > 0 && html`<p class="also">and ${more} more</p>`}`;
}

/** Shows groups in words where Keystone's names are known, and folds a long list. */
function groups(all: Account['groups']): Html {
  const shown = all.map(({ name, inWords }) => inWords ?? html`<code>${name}</code>`);
  const more = shown.length - GROUPS_SHOWN;
  return html`${chips(shown.slice(0, GROUPS_SHOWN))}
${more > 0 && html`<details><summary>${more} more</summary>${chips(shown.slice(GROUPS_SHOWN))}</details>`}
${all.some(({ inWords }) => inWords !== undefined) && html`<details><summary>As role bindings name them</summary>${list(all.map(({ name }) => name))}</details>`}`;
}
