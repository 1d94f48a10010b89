/**
 * The page "Access tokens": the user's tokens, and forms that create one. Its secret is shown once, or sent
 * once in a kubeconfig.
 */
import { type Content, type Html, html } from '../../lib/html.ts';
import { formatDuration, formatTime } from '../../lib/times-in-words.ts';
import type { Done, Forms, PortalPage, Visit } from '../../proxy/portal-page.ts';
import { ESCALATION_WORDS } from '../../rbac/escalating.ts';
import type { Identity } from '../../tenancy/identity.ts';
import {
  button,
  checkbox,
  chips,
  choiceButton,
  copied,
  entering,
  fold,
  form,
  hidden,
  MAX_ROWS,
  mistake,
  radio,
  textField,
  timeOf,
} from '../page-parts.ts';
import { filterForm, rowsOf } from '../page-rows.ts';
import { OWN_ACCESS_TOKENS, OWN_ROTATIONS, type ShownToken } from './access-token-v1alpha1.ts';
import type { AccessTokens } from './access-tokens.ts';
import { scopeNotes } from './scope.ts';

/** Only the public members: a test gives an object of its own. */
export type TokenSource = Pick<AccessTokens, keyof AccessTokens>;
type Lives = Pick<TokenSource, 'longestLife'>;
/** @returns the names of the namespaces that the user sees; undefined if they are not known now */
export type NamespacesOf = (identity: Identity) => Promise<readonly string[] | undefined>;

const SECONDS_OF_DAY = 86_400;
/** Seconds for which a rotated secret stays valid: as long as a program may need to get the other one. */
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

/** @param namespacesOf undefined if there is no RBAC index */
export function tokensPage(source: TokenSource, namespacesOf: NamespacesOf | undefined): PortalPage {
  return {
    path: '/tokens',
    navigation: { label: 'Tokens', order: 4 },
    setUpHint: html`Nothing to install: <a href="/tokens#kubeconfig">a kubeconfig with an access token</a>`,
    standsFor: () => ({ verb: 'list', resource: OWN_ACCESS_TOKENS }),
    async show(page) {
      const rows = rowsOf(page);
      const all = source.list(page.identity);
      const tokens = rows.take(
        [...all.filter(isLive), ...all.filter((token) => !isLive(token))],
        ({ metadata, spec }) => `${metadata.name} ${spec.description ?? ''}`,
      );
      const live = tokens.filter(isLive);
      const ended = tokens.filter((token) => !isLive(token));
      const namespaces = await namespacesOf?.(page.identity);
      return {
        title: 'Access tokens',
        lead: 'For scripts, pipelines and programs: a token acts as you, and may do no more than you choose here.',
        secret: newSecret,
        main: html`${filterForm(page, rows.hint)}<section class="card" aria-labelledby="own"><h2 id="own">Your tokens</h2>
${all.some(isLive) ? table(live, 'Tokens that have not ended', page) : html`<p>You have none.</p>`}
${ended.length > 0 && html`<details><summary>${ended.length} that ended in the last 30 days</summary>${table(ended, 'Tokens that have ended', page)}</details>`}
</section>
<section class="card" id="kubeconfig" aria-labelledby="quick"><h2 id="quick">kubectl without the stonegate command</h2>
${kubeconfigForm(page, source)}</section>
<section class="card" aria-labelledby="new"><h2 id="new">Create a token</h2>
${form(page, 'create', fields(entering(page, 'create'), source, namespaces))}</section>`,
      };
    },
    actions: {
      create: () => ({ verb: 'create', resource: OWN_ACCESS_TOKENS }),
      rotate: (form) => ({ verb: 'create', resource: OWN_ROTATIONS, name: form.get('name') ?? '' }),
      revoke: (form) => ({ verb: 'delete', resource: OWN_ACCESS_TOKENS, name: form.get('name') ?? '' }),
    },
    async act(entered, page) {
      const { identity, change } = page;
      const { signal } = change;
      const name = entered.get('name') ?? '';
      switch (entered.get('do')) {
        case 'create': {
          const token = await source.create(identity, newToken(entered, source), signal);
          return handedOver(token, 'is created', entered, page);
        }
        case 'rotate': {
          const token = await source.rotate(identity, name, OVERLAP, signal);
          return handedOver(token, 'has another secret', entered, page);
        }
        default:
          await source.revoke(identity, name, signal);
          return { text: `The token ${name} is revoked.` };
      }
    },
  };
}

function isLive({ status: { state } }: ShownToken): boolean {
  return state === 'active' || state === 'blocked';
}

function newSecret(secret: string): Html {
  return html`<p><strong>Copy the token now: it is not shown again.</strong></p>
${copied('The token', secret)}`;
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
  return html`<tr><th scope="row">${description === '' ? html`<code>${name}</code>` : html`${description} <code class="also">${name}</code>`}${chips(contents)}</th><td><span class="${state === 'active' ? 'tag' : 'tag bad'}">${state}</span>${reason !== undefined && html`<span class="also">${reason}</span>`}</td><td data-label="ends">${timeOf(expirationTimestamp, page)}</td><td data-label="last used">${lastUsedTimestamp === undefined ? 'never' : timeOf(lastUsedTimestamp, page)}</td></tr>
${isLive(token) && html`<tr class="more"><td colspan="4">${actions(name, notes, page)}</td></tr>\n`}`;
}

function actions(name: string, notes: readonly string[], page: Forms): Html {
  return fold(
    'Rotate or revoke',
    name,
    html`${notes.map((note) => html`<p class="also">${note}</p>`)}
${form(page, 'rotate', html`${hidden('name', name)}<p>You get another secret for it. The present one stays valid for ten more minutes.</p>${button('Rotate', name, 'quiet')}`)}
${form(page, 'revoke', html`${hidden('name', name)}<p>What uses it is refused from now on, and its open connections end. This cannot be undone.</p>${button('Revoke', name, 'danger')}`)}`,
  );
}

/** The choices of the form below for a token with which kubectl works as with a sign-in, in one click. */
function kubeconfigForm(page: Forms, lives: Lives): Html {
  const life = lives.longestLife({ scopes: ['session'] });
  const days = String(Math.ceil(life / 1_000 / SECONDS_OF_DAY));
  const choices = { level: 'session', days, description: 'kubeconfig' };
  return form(
    page,
    'create',
    html`${Object.entries(choices).map(([name, value]) => hidden(name, value))}
<p>A kubeconfig with a token in it: it may do all that you may do, needs no command, and ends in ${formatDuration(life)} at the latest. Every holder of the file acts as you until then.</p>
${choiceButton(AS_KUBECONFIG, 'Download kubeconfig with a token', 'quiet stretch')}`,
  );
}

const AS_KUBECONFIG = ['as', 'kubeconfig'] as const;

/** @param namespaces that the user sees; undefined if they are not known */
function fields(page: Forms, lives: Lives, namespaces: readonly string[] | undefined): Html {
  const lifeOf = (scope: string) =>
    html` <span class="life">up to ${formatDuration(lives.longestLife({ scopes: [scope] }))}</span>`;
  const words = ESCALATION_WORDS.map((word) => `+${word}`);
  return html`${textField(page, { name: 'description', label: 'What is it for?', hint: 'Such as "deployments of the shop".' })}
<fieldset><legend>What may it do, and for how long?</legend>
${LEVELS.map(([level, text], at) => radio(page, 'level', level, html`${text}${lifeOf(isEverywhere(level) ? level : `tenant/${level}`)}`, at === 0))}</fieldset>
<fieldset class="where"><legend>Where?</legend>
${radio(page, 'where', 'namespaces', 'In these namespaces:', true)}
${namespacesField(page, namespaces)}
${radio(page, 'where', 'tenant', 'In the whole tenant')}</fieldset>
<details${page.entered.has('words') && html` open`}><summary>More rights, with which a thief of the token can get further</summary>
<fieldset><legend class="unseen">More rights</legend>
${words.map((word) => checkbox(page, 'words', word, html`${scopeNotes({ scopes: [word] }).join(' ')}${lifeOf(word)}`))}</fieldset></details>
${textField(page, { name: 'days', type: 'number', label: 'For how many days?', hint: 'It ends after the shortest of the times above, if that is sooner.', value: '30' })}
<div class="row">${choiceButton(AS_KUBECONFIG, 'Create, and download a kubeconfig')}${choiceButton(['as', 'text'], 'Create, and show the token', 'quiet')}</div>`;
}

/** These levels have no place: the style sheet hides the question. */
function isEverywhere(level: string): boolean {
  return level === 'session' || level === 'userinfo';
}

function namespacesField(page: Forms, namespaces: readonly string[] = []): Html {
  return namespaces.length === 0 || namespaces.length > MAX_ROWS
    ? textField(page, {
        name: 'namespaces',
        label: html`<span class="unseen">Namespaces</span>`,
        hint: 'Names with spaces between them.',
      })
    : html`<div class="choices">${namespaces.map((name) => checkbox(page, 'namespaces', name, html`<code>${name}</code>`))}</div>`;
}

/** Shows the secret of a token once, or sends it in a kubeconfig. */
function handedOver(
  { metadata: { name }, spec, status }: ShownToken,
  what: string,
  entered: URLSearchParams,
  { account, now }: Visit,
): Done {
  const { token = '', expirationTimestamp, notes = [] } = status;
  const end = `It ends on ${formatTime(expirationTimestamp, now)}.`;
  const text = [`The token ${name} ${what}.`, end, ...notes].join(' ');
  if (entered.get('as') !== AS_KUBECONFIG[1]) return { text, secret: token };
  const [, scoped] = /^namespace\/([^/]+)\//.exec(spec.scopes[0] ?? '') ?? [];
  return { text, kubeconfig: { name, token, namespace: scoped ?? account.project?.namespace } };
}

/** @throws StatusError ObjectInvalid */
function newToken(entered: URLSearchParams, lives: Lives) {
  const description = (entered.get('description') ?? '').trim();
  const scopes = [...scopesOf(entered), ...entered.getAll('words')];
  const days = Number(entered.get('days'));
  if (!Number.isInteger(days) || days < 1)
    throw mistake('Enter for how many days the token is valid: 1 or more.', 'days');
  const longest = Math.floor(lives.longestLife({ scopes }) / 1_000);
  return {
    ...(description !== '' && { description }),
    scopes,
    expirationSeconds: Math.min(days * SECONDS_OF_DAY, longest),
  };
}

function scopesOf(entered: URLSearchParams): string[] {
  const level = entered.get('level') ?? '';
  if (isEverywhere(level)) return [level];
  if (entered.get('where') === 'tenant') return [`tenant/${level}`];
  const names = entered
    .getAll('namespaces')
    .flatMap((text) => text.split(/[\s,]+/))
    .filter((name) => name !== '');
  if (names.length === 0)
    throw mistake('Choose the namespaces in which the token is valid, or the whole tenant.', 'namespaces');
  return names.map((name) => `namespace/${name}/${level}`);
}
