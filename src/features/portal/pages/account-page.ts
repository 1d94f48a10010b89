/**
 * The account page: the user's identity in Kubernetes, its end, and how to set up kubectl. One click selects
 * all commands, without a script.
 */
import { SELF_IDENTITY } from '../../explain/stonegate-v1alpha1.ts';
import { type Account, accountOf } from '../account.ts';
import { CLIENT_PATH } from '../assets.ts';
import type { PortalContext } from '../context.ts';
import { type Html, html } from '../html.ts';
import { kubeconfigFileName, kubeconfigUsers } from '../kubeconfig.ts';
import { HOME } from '../request.ts';
import { userPage } from '../user-page.ts';
import { chips, copied, described, formatTime, list, MAX_ROWS } from './page-parts.ts';

/** Groups shown unfolded: a user may have hundreds. */
const GROUPS_SHOWN = 12;

export const ACCOUNT_PAGE = userPage({
  path: HOME,
  standsFor: () => ({ verb: 'list', resource: SELF_IDENTITY }),
  sourceOf: (context) => context,
  show({ session, context }) {
    const account = accountOf(session, context);
    const { project, domain, issuer, roles, otherProjects, expiresAt } = account;
    const { providers, keystone } = context;
    const provider = providers.find((each) => each.issuer === issuer);
    const signedInWith =
      issuer === undefined ? (keystone?.displayName ?? 'Keystone') : (provider?.displayName ?? issuer);
    const kubeContext = kubeconfigUsers(account, context.cluster, provider)[0]?.name ?? '';
    return {
      title: 'Your account',
      heading: account.name,
      lead: html`signed in with ${signedInWith}${domain !== undefined && html`, domain ${domain}`}`,
      main: html`<section class="card" aria-labelledby="who">
<h2 id="who">Who you are to Kubernetes</h2>
<dl>
${described('Tenant', html`<span class="tag">${account.tenant}</span>`)}
${described('User name', html`<code>${account.username}</code>`)}
${domain !== undefined && described('Project', project?.name ?? html`<span class="muted">none: you have signed in without one</span>`)}
${project?.namespace !== undefined && described('Namespace', html`<code>${project.namespace}</code>`)}
${domain !== undefined && described('Roles', roles.length === 0 ? html`<span class="muted">none</span>` : list(roles))}
${otherProjects.length > 0 && described('Other projects', projects(otherProjects.map(({ name }) => name)))}
${described('Groups', groups(account.groups))}
${described('Signed in until', html`<time datetime="${new Date(expiresAt).toISOString()}">${formatTime(expiresAt)}</time>`)}
</dl>
</section>
${setUp(context, kubeContext)}`,
    };
  },
});

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

/** Step 3 follows the choice in step 2 by the style sheet; a browser without `:has()` shows both. */
function setUp(context: PortalContext, kubeContext: string): Html {
  const fileName = kubeconfigFileName(context.cluster);
  return html`<section class="card" id="kubectl" aria-labelledby="set-up">
<h2 id="set-up">Set up kubectl</h2>
<ol class="steps">
<li><p>Put the <code>stonegate</code> command on your <code>PATH</code>. kubectl calls it to sign you in.</p>
${install(context)}</li>
<li><p>Download your kubeconfig. There is no secret in it.</p>
<p><a class="button stretch" href="/kubeconfig" download="${fileName}">Download kubeconfig</a></p>
<fieldset><legend>How do you want to use it?</legend>
<label><input type="radio" name="use" checked> As a file of its own</label>
<label><input type="radio" name="use" id="merged"> Added to the kubeconfig that I have</label>
</fieldset>
<div class="if-merged"><p>Click on the commands to select them all, then copy.</p>
${copied('Commands to set up kubectl', `stonegate kubeconfig --server ${context.cluster.server}`)}</div></li>
<li><p>See what you reach:</p>
<div class="if-separate">${copied('Commands to try with the file', triedWith(`--kubeconfig ${fileName}`))}</div>
<div class="if-merged">${copied('Commands to try with the context', triedWith(`--context ${kubeContext}`))}</div></li>
</ol>
</section>`;
}

function triedWith(flag: string): string {
  return `kubectl ${flag} auth whoami\nkubectl ${flag} get pods`;
}

function install({ origin, client, commandURL }: PortalContext): Html {
  const file = CLIENT_PATH.slice(1);
  return html`${
    client !== undefined &&
    html`${copied('Commands to install stonegate', `curl -fO ${origin}${CLIENT_PATH}\nsudo install -m 755 ${file} /usr/local/bin/stonegate`)}
<p class="hint">It needs Node 22.19 or newer. <a href="${CLIENT_PATH}" download>${file}</a> has the SHA-256 <code>${client.sha256}</code></p>`
  }${
    commandURL !== undefined &&
    html`<p><a href="${commandURL}">Executables</a>, for Windows too, need no Node.</p>`
  }`;
}
