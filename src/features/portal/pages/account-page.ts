/**
 * The account page: the user's identity in Kubernetes, its end, and how to set up kubectl. One click selects
 * all commands, without a script.
 */
import type { Account } from '../account.ts';
import { CLIENT_PATH } from '../assets.ts';
import { type Content, type Html, html } from '../html.ts';
import { layout, signOutForm } from './layout.ts';

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
  /** Of the portal's file; undefined if the portal has none. */
  readonly sha256: string | undefined;
  readonly executablesURL: string | undefined;
}

export interface AccountPage {
  readonly server: string;
  readonly account: Account;
  /** The display name of the issuer or of Keystone. */
  readonly signedInWith: string;
  readonly now: number;
  /** The name of the file to download. */
  readonly fileName: string;
  readonly command: CommandSource;
  readonly formToken: string;
  /** Whether there is a page of what the user may do. */
  readonly showsAccess: boolean;
}

export function accountPage(page: AccountPage): Html {
  const { server, account, signedInWith, now, formToken, showsAccess } = page;
  return layout({
    title: 'Your access',
    server,
    aside: signOutForm(formToken),
    main: html`<h1>${account.name}</h1>
<p class="lead">signed in with ${signedInWith}${account.domain !== undefined && html`, domain ${account.domain}`}</p>
<section class="card" aria-labelledby="who">
<h2 id="who">Who you are to Kubernetes</h2>
<dl>
${row('Tenant', html`<span class="tag">${account.tenant}</span>`)}
${row('User name', html`<code>${account.username}</code>`)}
${account.domain !== undefined && row('Project', account.project?.name ?? html`<span class="muted">none: you have signed in without one</span>`)}
${account.domain !== undefined && row('Roles', account.roles.length === 0 ? html`<span class="muted">none</span>` : list(account.roles))}
${account.otherProjects.length > 0 && row('Other projects', list(account.otherProjects.map(({ name }) => name)))}
${row('Groups', foldedList(account.groups))}
${row('Signed in until', html`<time datetime="${new Date(account.expiresAt).toISOString()}">${formatTime(account.expiresAt)}</time> <span class="muted">(${formatDuration(account.expiresAt - now)} left)</span>`)}
</dl>
${showsAccess && html`<p class="more"><a href="/access">What you may do</a></p>`}
</section>
${setUp(page)}`,
  });
}

function row(term: string, description: Content): Html {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>\n`;
}

export function list(texts: readonly string[]): Html {
  return html`<ul class="list">${texts.map((text) => html`<li><code>${text}</code></li>`)}</ul>`;
}

/** Many are folded. */
function foldedList(names: readonly string[]): Html {
  if (names.length <= GROUPS_SHOWN) return list(names);
  return html`${list(names.slice(0, GROUPS_SHOWN))}
<details><summary>${names.length - GROUPS_SHOWN} more</summary>${list(names.slice(GROUPS_SHOWN))}</details>`;
}

function setUp({ fileName, command }: AccountPage): Html {
  return html`<section class="card" id="kubectl" aria-labelledby="set-up">
<h2 id="set-up">Set up kubectl</h2>
<ol class="steps">
<li><p>Put the <code>stonegate</code> command on your <code>PATH</code>. kubectl calls it to sign you in.</p>
${install(command)}</li>
<li><p>Download your kubeconfig. There is no secret in it.</p>
<p><a class="button stretch" href="/kubeconfig" download="${fileName}">Download kubeconfig</a></p>
<details><summary>Or add it to the kubeconfig you have</summary>
<p>Click on the commands to select them all, then copy.</p>
<pre class="copy" tabindex="0" role="region" aria-label="Commands to set up kubectl">KUBECONFIG=~/.kube/config:${fileName} kubectl config view --flatten &gt; merged
mv merged ~/.kube/config</pre>
</details></li>
<li><p>See what you reach:</p>
<pre class="copy short" tabindex="0" role="region" aria-label="Commands to try">kubectl --kubeconfig ${fileName} auth whoami
kubectl --kubeconfig ${fileName} get pods</pre></li>
</ol>
</section>`;
}

function install({ portal, sha256, executablesURL }: CommandSource): Html {
  const file = CLIENT_PATH.slice(1);
  return html`${
    sha256 !== undefined &&
    html`<pre class="copy short" tabindex="0" role="region" aria-label="Commands to install stonegate">curl -fO ${portal}${CLIENT_PATH}
sudo install -m 755 ${file} /usr/local/bin/stonegate</pre>
<p class="hint">It needs Node 22.19 or newer. <a href="${CLIENT_PATH}" download>${file}</a> has the SHA-256 <code>${sha256}</code></p>`
  }${
    executablesURL !== undefined &&
    html`<p><a href="${executablesURL}">Executables</a> need no Node${sha256 !== undefined && ', on Windows too'}.</p>`
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
