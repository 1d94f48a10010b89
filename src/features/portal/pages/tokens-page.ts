/**
 * The page "Access tokens": the user's tokens, and a form that makes one. Its secret is shown once.
 */
import { ESCALATION_WORDS } from '../../../rbac/escalating.ts';
import { type ShownToken, scopeNotes } from '../../tokens/feature.ts';
import { type Content, type Html, html } from '../html.ts';
import { chips, formatTime } from './account-page.ts';
import {
  button,
  checkbox,
  copied,
  type Forms,
  fold,
  form,
  hidden,
  outcome,
  radio,
  textField,
  titleOf,
} from './form-parts.ts';
import { type Frame, layout } from './layout.ts';

export interface TokensPage extends Forms {
  readonly frame: Frame;
  readonly tokens: readonly ShownToken[];
  /** The name of the cluster in the kubeconfig that users download. */
  readonly cluster: string;
}

const LEVELS = [
  ['read', 'Read: everything but Secrets'],
  ['control', 'Control: also delete pods, which their workload replaces, and scale'],
  [
    'edit',
    'Edit: also create, change and delete. A workload that it creates can mount every Secret of the namespace and run as each of its service accounts.',
  ],
  ['manage', 'Manage: also whatever else there is to do'],
  ['session', 'All that you may do, wherever you may do it'],
  ['userinfo', 'Nothing: it only proves who you are'],
] as const;

export function tokensPage(page: TokensPage): Html {
  const live = page.tokens.filter(({ status: { state } }) => state === 'active' || state === 'blocked');
  const ended = page.tokens.filter((token) => !live.includes(token));
  return layout({
    ...page.frame,
    title: titleOf(page, 'Access tokens'),
    main: html`${outcome(page, (secret) => newSecret(secret, page))}
<h1>Access tokens</h1>
<p class="lead">For scripts, pipelines and programs: a token acts as you, and does no more than you choose here.</p>
<section class="card" aria-labelledby="own"><h2 id="own">Your tokens</h2>
${live.length === 0 ? html`<p>You have none.</p>` : table(live, 'Tokens that have not ended', page)}
${ended.length > 0 && html`<details><summary>${ended.length} that ended in the last 30 days</summary>${table(ended, 'Tokens that have ended', page)}</details>`}
</section>
<section class="card" aria-labelledby="new"><h2 id="new">Make a token</h2>
${form(page, 'create', fields(page))}</section>`,
  });
}

function newSecret(secret: string, { cluster }: TokensPage): Html {
  const name = `${cluster}-${secret.slice('sgt_'.length, 'sgt_'.length + 8)}`;
  return html`<p><strong>Copy the token now: it is not shown again.</strong></p>
${copied('The token', secret)}
<p>With kubectl, for one command:</p>
${copied('A command with the token', `kubectl --token=${secret} auth whoami`)}
<p>Or as a context of your kubeconfig:</p>
${copied('Commands that add the token to your kubeconfig', `kubectl config set-credentials ${name} --token=${secret}\nkubectl config set-context ${name} --cluster=${cluster} --user=${name}`)}`;
}

function table(tokens: readonly ShownToken[], caption: string, page: TokensPage): Html {
  return html`<table class="sheet rows">
<caption>${caption}</caption>
<thead><tr><th scope="col">Token</th><th scope="col">State</th><th scope="col">Ends</th><th scope="col">Last used</th></tr></thead>
<tbody>
${tokens.map((token) => row(token, page))}</tbody>
</table>`;
}

function row({ metadata: { name }, spec, status }: ShownToken, page: TokensPage): Html {
  const { description = '', scopes, rules = [] } = spec;
  const { state, reason, notes = [], lastUsedTimestamp, expirationTimestamp } = status;
  const isActive = state === 'active';
  const contents: Content[] = [
    ...scopes.map((scope) => html`<code>${scope}</code>`),
    ...(rules.length > 0 ? [`${rules.length} rules`] : []),
  ];
  const isLive = isActive || state === 'blocked';
  return html`<tr><th scope="row">${description === '' ? html`<code>${name}</code>` : html`${description} <code class="also">${name}</code>`}${chips(contents)}</th><td><span class="${isActive ? 'tag' : 'tag bad'}">${state}</span>${reason !== undefined && html`<span class="also">${reason}</span>`}</td><td data-label="ends">${time(expirationTimestamp)}</td><td data-label="last used">${lastUsedTimestamp === undefined ? 'never' : time(lastUsedTimestamp)}</td></tr>
${isLive && html`<tr class="more"><td colspan="4">${actions(name, notes, page)}</td></tr>\n`}`;
}

function actions(name: string, notes: readonly string[], page: TokensPage): Html {
  return fold(
    'Rotate or revoke',
    name,
    html`${notes.map((note) => html`<p class="also">${note}</p>`)}
${form(page, 'rotate', html`${hidden('name', name)}<p>You get another secret for it. The present one counts for ten more minutes.</p>${button('Rotate', name, 'quiet')}`)}
${form(page, 'revoke', html`${hidden('name', name)}<p>What uses it is refused from now on, and its open connections end. This cannot be undone.</p>${button('Revoke', name, 'danger')}`)}`,
  );
}

function time(timestamp: string): Html {
  return html`<time datetime="${timestamp}">${formatTime(Date.parse(timestamp))}</time>`;
}

/** Where it counts does not matter for the last two levels: the style sheet hides it. */
function fields(page: TokensPage): Html {
  return html`${textField(page, { name: 'description', label: 'What is it for?', hint: 'Such as "deployments of the shop".' })}
<fieldset><legend>What may it do?</legend>
${LEVELS.map(([level, text], at) => radio(page, 'level', level, text, at === 0))}</fieldset>
<fieldset class="where"><legend>Where?</legend>
${radio(page, 'where', 'namespaces', 'In these namespaces:', true)}
${textField(page, { name: 'namespaces', label: html`<span class="unseen">Namespaces</span>`, hint: 'Names with blanks between them.' })}
${radio(page, 'where', 'tenant', 'In the whole tenant')}</fieldset>
<fieldset><legend>What more may it do?</legend>
<span class="hint">Each of these gives much away: with it, a thief of the token can get further.</span>
${ESCALATION_WORDS.map((word) => checkbox(page, 'words', `+${word}`, scopeNotes({ scopes: [`+${word}`] }).join(' ')))}</fieldset>
${textField(page, { name: 'days', type: 'number', label: 'For how many days?', hint: 'Strong rights end sooner, whatever you enter. The date is shown with the token.', value: '30' })}
${button('Make the token')}`;
}
