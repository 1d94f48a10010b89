/**
 * The account page: the user's identity in Kubernetes, its end, and how to set up kubectl. One click selects
 * all commands, without a script.
 */
import type { Account } from '../account.ts';
import { CLIENT_PATH } from '../assets.ts';
import { type Content, type Html, html } from '../html.ts';
import { copied } from './form-parts.ts';
import { type Frame, layout } from './layout.ts';

/** Groups shown unfolded: a user may have hundreds. */
const GROUPS_SHOWN = 12;

const UNITS: readonly (readonly [name: string, milliseconds: number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

const TIME_FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** Where users get the `stonegate` command. */
export interface CommandSource {
  /** The portal's origin. */
  readonly portal: string;
  /** The digest of the file that the portal serves; undefined if it serves none. */
  readonly sha256: string | undefined;
  readonly executablesURL: string | undefined;
}

export interface AccountPage {
  readonly frame: Frame;
  readonly account: Account;
  /** The display name of the issuer or of Keystone. */
  readonly signedInWith: string;
  readonly now: number;
  /** The name of the file to download. */
  readonly fileName: string;
  /** The kubeconfig's current context. */
  readonly kubeContext: string;
  readonly command: CommandSource;
}

export function accountPage(page: AccountPage): Html {
  const { frame, account, signedInWith, now } = page;
  const { project } = account;
  return layout({
    title: 'Your account',
    ...frame,
    main: html`<h1>${account.name}</h1>
<p class="lead">signed in with ${signedInWith}${account.domain !== undefined && html`, domain ${account.domain}`}</p>
<section class="card" aria-labelledby="who">
<h2 id="who">Who you are to Kubernetes</h2>
<dl>
${row('Tenant', html`<span class="tag">${account.tenant}</span>`)}
${row('User name', html`<code>${account.username}</code>`)}
${account.domain !== undefined && row('Project', project?.name ?? html`<span class="muted">none: you have signed in without one</span>`)}
${project?.namespace !== undefined && row('Namespace', html`<code>${project.namespace}</code>`)}
${account.domain !== undefined && row('Roles', account.roles.length === 0 ? html`<span class="muted">none</span>` : list(account.roles))}
${account.otherProjects.length > 0 && row('Other projects', list(account.otherProjects.map(({ name }) => name)))}
${row('Groups', groups(account.groups))}
${row('Signed in until', html`<time datetime="${new Date(account.expiresAt).toISOString()}">${formatTime(account.expiresAt)}</time> <span class="muted">(${formatDuration(account.expiresAt - now)} left)</span>`)}
</dl>
</section>
${setUp(page)}`,
  });
}

function row(term: string, description: Content): Html {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>\n`;
}

export function list(texts: readonly string[]): Html {
  return chips(texts.map((text) => html`<code>${text}</code>`));
}

export function chips(contents: readonly Content[]): Html {
  return html`<ul class="list">${contents.map((content) => html`<li>${content}</li>`)}</ul>`;
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
function setUp({ fileName, kubeContext, command }: AccountPage): Html {
  return html`<section class="card" id="kubectl" aria-labelledby="set-up">
<h2 id="set-up">Set up kubectl</h2>
<ol class="steps">
<li><p>Put the <code>stonegate</code> command on your <code>PATH</code>. kubectl calls it to sign you in.</p>
${install(command)}</li>
<li><p>Download your kubeconfig. There is no secret in it.</p>
<p><a class="button stretch" href="/kubeconfig" download="${fileName}">Download kubeconfig</a></p>
<fieldset><legend>How do you want to use it?</legend>
<label><input type="radio" name="use" checked> As a file of its own</label>
<label><input type="radio" name="use" id="merged"> Added to the kubeconfig that I have</label>
</fieldset>
<div class="if-merged"><p>Click on the commands to select them all, then copy.</p>
${copied('Commands to set up kubectl', `KUBECONFIG=~/.kube/config:${fileName} kubectl config view --flatten > merged\nmv merged ~/.kube/config`)}</div></li>
<li><p>See what you reach:</p>
<div class="if-separate">${copied('Commands to try with the file', triedWith(`--kubeconfig ${fileName}`))}</div>
<div class="if-merged">${copied('Commands to try with the context', triedWith(`--context ${kubeContext}`))}</div></li>
</ol>
</section>`;
}

function triedWith(flag: string): string {
  return `kubectl ${flag} auth whoami\nkubectl ${flag} get pods`;
}

function install({ portal, sha256, executablesURL }: CommandSource): Html {
  const file = CLIENT_PATH.slice(1);
  return html`${
    sha256 !== undefined &&
    html`${copied('Commands to install stonegate', `curl -fO ${portal}${CLIENT_PATH}\nsudo install -m 755 ${file} /usr/local/bin/stonegate`)}
<p class="hint">It needs Node 22.19 or newer. <a href="${CLIENT_PATH}" download>${file}</a> has the SHA-256 <code>${sha256}</code></p>`
  }${
    executablesURL !== undefined &&
    html`<p><a href="${executablesURL}">Executables</a>, for Windows too, need no Node.</p>`
  }`;
}

/**
 * The time in UTC, because the server does not know the user's time zone: `21 November 2026 at 03:15
 * UTC`.
 */
export function formatTime(time: number): string {
  return `${TIME_FORMAT.format(time)} UTC`;
}

/** @returns such as `59 minutes`, rounded down; `less than a minute` */
export function formatDuration(milliseconds: number): string {
  for (const [name, length] of UNITS) {
    const count = Math.floor(milliseconds / length);
    if (count >= 1) return `${count} ${name}${count === 1 ? '' : 's'}`;
  }
  return 'less than a minute';
}
