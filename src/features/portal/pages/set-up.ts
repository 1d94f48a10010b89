/**
 * How to set up kubectl: the command that kubectl calls to sign in, and the one line that adds the cluster to
 * the user's kubeconfig. No command here truncates a file of the user's.
 */
import { X509Certificate } from 'node:crypto';
import { kubeconfigName } from '../../../kubernetes/kubeconfig-v1.ts';
import { type Html, html } from '../../../lib/html.ts';
import { certificateBlocks } from '../../../lib/transport-security.ts';
import { copied } from '../../page-parts.ts';
import { CLIENT_PATH } from '../assets.ts';
import type { PortalContext } from '../context.ts';
import { type Executable, executablesFor } from '../executables.ts';
import { type ClusterFacts, kubeconfigFileName } from '../kubeconfig.ts';
import type { Provider } from '../oidc-portal.ts';
import type { PortalRequest } from '../request.ts';

/** @param provider where the user has signed in; undefined for Keystone */
export function setUp(request: PortalRequest, context: PortalContext, provider: Provider | undefined): Html {
  const { cluster, pages } = context;
  const fileName = kubeconfigFileName(cluster);
  const kubeContext = kubeconfigName(new URL(cluster.server).hostname);
  return html`<section class="card" id="kubectl" aria-labelledby="set-up">
<h2 id="set-up">Set up kubectl</h2>
<ol class="steps">
<li><p>Install the <code>stonegate</code> command. kubectl calls it to sign you in.</p>
${install(request, context)}</li>
<li><p>Add the cluster to your kubeconfig. Everything else in it stays as it is.</p>
${copied('Command to set up kubectl', `stonegate kubeconfig --server ${cluster.server}${trustOf(cluster)}${choiceOf(provider, context)}`)}</li>
<li><p>Look around:</p>
${copied('Commands to try it', triedWith(`--context ${kubeContext}`))}</li>
</ol>
<details><summary>Use a kubeconfig of its own instead</summary>
<p>The file has no secret in it. kubectl still calls <code>stonegate</code> to sign you in.</p>
<p><a class="button quiet stretch" href="/kubeconfig" download="${fileName}">Download kubeconfig</a></p>
${copied('Commands to try the file', triedWith(`--kubeconfig ${fileName}`))}
</details>
${pages.map(({ setUpHint }) => setUpHint && html`<p class="also">${setUpHint}</p>`)}
</section>`;
}

function triedWith(flag: string): string {
  return `kubectl ${flag} auth whoami\nkubectl ${flag} get pods`;
}

/** The user trusts the portal already; with several authorities the command asks which one. */
function trustOf({ ca }: ClusterFacts): string {
  const [only, another] = certificateBlocks(ca ?? '');
  if (only === undefined || another !== undefined) return '';
  return ` --ca-fingerprint ${new X509Certificate(only).fingerprint256}`;
}

/** The command asks where to log in if there are several providers; it may know Keystone by other names. */
function choiceOf(provider: Provider | undefined, { providers, cluster }: PortalContext): string {
  const isOne = providers.length === 1 && cluster.keystoneURL === undefined;
  return provider === undefined || isOne ? '' : ` --provider ${provider.name}`;
}

/** An executable needs no Node, so it comes first. */
function install({ exchange }: PortalRequest, { origin, client, version, commandURL }: PortalContext): Html {
  const withNode = client && nodeClient(origin, client.sha256);
  if (commandURL === undefined) return html`${withNode}`;
  if (!commandURL.includes('{platform}'))
    return html`<p><a class="button stretch" href="${commandURL}">Executables</a></p>
<p class="hint">For Linux, macOS and Windows, without Node.</p>
${withNode && html`<details><summary>With Node</summary>${withNode}</details>`}`;
  const { own, others } = executablesFor(exchange.headers, commandURL, version);
  const links = html`<ul>${others.map((each) => html`<li><a href="${each.url}">${each.system}</a></li>`)}</ul>`;
  return html`${own && ownExecutable(own)}
${
  own === undefined
    ? html`<p>For your system:</p>${links}${withNode}`
    : html`<details><summary>For another system${withNode && ', or with Node'}</summary>${links}${withNode}</details>`
}`;
}

function ownExecutable({ system, url }: Executable): Html {
  return url.endsWith('.exe')
    ? html`<p><a class="button stretch" href="${url}">Download for ${system}</a></p>
<p class="hint">Rename it to <code>stonegate.exe</code>, and move it to a folder of your <code>PATH</code>.</p>`
    : html`${copied(`Commands to install stonegate on ${system}`, installed(`curl -fLO ${url}`, url))}
<p class="hint">For ${system}; it needs nothing else.</p>`;
}

function nodeClient(origin: string, sha256: string): Html {
  const url = `${origin}${CLIENT_PATH}`;
  return html`${copied('Commands to install stonegate with Node', installed(`curl -fO ${url}`, url))}
<p class="hint">It needs Node 22.19 or newer. <a href="${CLIENT_PATH}" download>${CLIENT_PATH.slice(1)}</a> has the SHA-256 <code>${sha256}</code></p>`;
}

/** The commands install the file that they have just downloaded; a failed download installs nothing. */
function installed(download: string, url: string): string {
  const file = url.slice(url.lastIndexOf('/') + 1);
  return `${download} &&\n  sudo install -m 755 ${file} /usr/local/bin/stonegate`;
}
