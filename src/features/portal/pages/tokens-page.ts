/**
 * The page "Access tokens": the user's tokens, and a form that makes one. Its secret is shown once.
 */
import { ESCALATION_WORDS } from '../../../rbac/escalating.ts';
import { OWN_ACCESS_TOKENS, OWN_ROTATIONS } from '../../tokens/access-token-v1alpha1.ts';
import { type AccessTokens, type ShownToken, scopeNotes } from '../../tokens/feature.ts';
import type { Flash } from '../flash.ts';
import { type Content, type Html, html } from '../html.ts';
import { TOKENS } from '../request.ts';
import { mistake, userPage } from '../user-page.ts';
import {
  button,
  checkbox,
  chips,
  copied,
  type Forms,
  fold,
  form,
  formatTime,
  hidden,
  radio,
  textField,
} from './page-parts.ts';
import { filterForm, rowsOf } from './rows.ts';

const SECONDS_OF_DAY = 86_400;
/** Seconds for which a rotated secret counts: as long as a program may need to get the other one. */
const OVERLAP = 600;

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

export const TOKENS_PAGE = userPage<AccessTokens>({
  path: TOKENS,
  standsFor: () => ({ verb: 'list', resource: OWN_ACCESS_TOKENS }),
  sourceOf: ({ tokens }) => tokens,
  show(page) {
    const rows = rowsOf(page);
    const all = page.source.list(page.identity);
    const tokens = rows.take(
      [...all.filter(isLive), ...all.filter((token) => !isLive(token))],
      ({ metadata, spec }) => `${metadata.name} ${spec.description ?? ''}`,
    );
    const live = tokens.filter(isLive);
    const ended = tokens.filter((token) => !isLive(token));
    return {
      title: 'Access tokens',
      lead: 'For scripts, pipelines and programs: a token acts as you, and does no more than you choose here.',
      secret: (text) => newSecret(text, page.context.cluster.name),
      main: html`${filterForm(page, rows.hint)}<section class="card" aria-labelledby="own"><h2 id="own">Your tokens</h2>
${all.some(isLive) ? table(live, 'Tokens that have not ended', page) : html`<p>You have none.</p>`}
${ended.length > 0 && html`<details><summary>${ended.length} that ended in the last 30 days</summary>${table(ended, 'Tokens that have ended', page)}</details>`}
</section>
<section class="card" aria-labelledby="new"><h2 id="new">Make a token</h2>
${form(page, 'create', fields(page))}</section>`,
    };
  },
  actions: {
    create: () => ({ verb: 'create', resource: OWN_ACCESS_TOKENS }),
    rotate: (form) => ({ verb: 'create', resource: OWN_ROTATIONS, name: form.get('name') ?? '' }),
    revoke: (form) => ({ verb: 'delete', resource: OWN_ACCESS_TOKENS, name: form.get('name') ?? '' }),
  },
  async act(entered, { source, identity, change: { signal } }) {
    const name = entered.get('name') ?? '';
    switch (entered.get('do')) {
      case 'create':
        return shownOnce(await source.create(identity, newToken(entered, source), signal), 'was made');
      case 'rotate':
        return shownOnce(await source.rotate(identity, name, OVERLAP, signal), 'has another secret');
      default:
        await source.revoke(identity, name, signal);
        return { text: `The token ${name} is revoked.` };
    }
  },
});

function isLive({ status: { state } }: ShownToken): boolean {
  return state === 'active' || state === 'blocked';
}

function newSecret(secret: string, cluster: string): Html {
  const name = `${cluster}-${secret.slice('sgt_'.length, 'sgt_'.length + 8)}`;
  return html`<p><strong>Copy the token now: it is not shown again.</strong></p>
${copied('The token', secret)}
<p>With kubectl, for one command:</p>
${copied('A command with the token', `kubectl --token=${secret} auth whoami`)}
<p>Or as a context of your kubeconfig:</p>
${copied('Commands that add the token to your kubeconfig', `kubectl config set-credentials ${name} --token=${secret}\nkubectl config set-context ${name} --cluster=${cluster} --user=${name}`)}`;
}

function table(tokens: readonly ShownToken[], caption: string, page: Forms): Html {
  return html`<table class="sheet rows">
<caption>${caption}</caption>
<thead><tr><th scope="col">Token</th><th scope="col">State</th><th scope="col">Ends</th><th scope="col">Last used</th></tr></thead>
<tbody>
${tokens.map((token) => row(token, page))}</tbody>
</table>`;
}

function row(token: ShownToken, page: Forms): Html {
  const { metadata, spec, status } = token;
  const { name } = metadata;
  const { description = '', scopes, rules = [] } = spec;
  const { state, reason, notes = [], lastUsedTimestamp, expirationTimestamp } = status;
  const contents: Content[] = [
    ...scopes.map((scope) => html`<code>${scope}</code>`),
    ...(rules.length > 0 ? [`${rules.length} rules`] : []),
  ];
  return html`<tr><th scope="row">${description === '' ? html`<code>${name}</code>` : html`${description} <code class="also">${name}</code>`}${chips(contents)}</th><td><span class="${state === 'active' ? 'tag' : 'tag bad'}">${state}</span>${reason !== undefined && html`<span class="also">${reason}</span>`}</td><td data-label="ends">${time(expirationTimestamp)}</td><td data-label="last used">${lastUsedTimestamp === undefined ? 'never' : time(lastUsedTimestamp)}</td></tr>
${isLive(token) && html`<tr class="more"><td colspan="4">${actions(name, notes, page)}</td></tr>\n`}`;
}

function actions(name: string, notes: readonly string[], page: Forms): Html {
  return fold(
    'Rotate or revoke',
    name,
    html`${notes.map((note) => html`<p class="also">${note}</p>`)}
${form(page, 'rotate', html`${hidden('name', name)}<p>You get another secret for it. The present one counts for ten more minutes.</p>${button('Rotate', name, 'quiet')}`)}
${form(page, 'revoke', html`${hidden('name', name)}<p>What uses it is refused from now on, and its open connections end. This cannot be undone.</p>${button('Revoke', name, 'danger')}`)}`,
  );
}

function time(timestamp: string): Html {
  return html`<time datetime="${timestamp}">${formatTime(timestamp)}</time>`;
}

/** Where it counts does not matter for the last two levels: the style sheet hides it. */
function fields(page: Forms): Html {
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

function shownOnce({ metadata, status }: ShownToken, what: string): Flash {
  const { token, expirationTimestamp, notes = [] } = status;
  const end = `It ends on ${formatTime(expirationTimestamp)}.`;
  return {
    text: [`The token ${metadata.name} ${what}.`, end, ...notes].join(' '),
    ...(token !== undefined && { secret: token }),
  };
}

/** @throws StatusError ObjectInvalid */
function newToken(entered: URLSearchParams, tokens: AccessTokens) {
  const description = (entered.get('description') ?? '').trim();
  const scopes = [...scopesOf(entered), ...entered.getAll('words')];
  const days = Number(entered.get('days'));
  if (!Number.isInteger(days) || days < 1)
    throw mistake('Enter for how many days the token counts: 1 or more.');
  const longest = Math.floor(tokens.longestLife({ scopes }) / 1_000);
  return {
    ...(description !== '' && { description }),
    scopes,
    expirationSeconds: Math.min(days * SECONDS_OF_DAY, longest),
  };
}

function scopesOf(entered: URLSearchParams): string[] {
  const level = entered.get('level') ?? '';
  if (level === 'session' || level === 'userinfo') return [level];
  if (entered.get('where') === 'tenant') return [`tenant/${level}`];
  const names = (entered.get('namespaces') ?? '').split(/[\s,]+/).filter((name) => name !== '');
  if (names.length === 0)
    throw mistake('Enter the namespaces in which the token counts, or choose the whole tenant.');
  return names.map((name) => `namespace/${name}/${level}`);
}
