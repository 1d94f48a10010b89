/**
 * The page of access tokens and what its forms do.
 */
import type { AccessTokens, ShownToken } from '../tokens/feature.ts';
import type { Flash } from './flash.ts';
import { formatTime } from './pages/account-page.ts';
import { tokensPage } from './pages/tokens-page.ts';
import { TOKENS } from './request.ts';
import { mistake, userPage, type Visit } from './user-page.ts';

const SECONDS_OF_DAY = 86_400;
/** Seconds for which a rotated secret counts: as long as a program may need to get the other one. */
const OVERLAP = 600;

export const TOKENS_PAGE = userPage<AccessTokens>({
  path: TOKENS,
  sourceOf: ({ tokens }) => tokens,
  show: ({ source, identity, context, ...visit }) =>
    tokensPage({ ...visit, tokens: source.list(identity), cluster: context.cluster.name }),
  async act(form, { source, identity, change: { signal } }) {
    const name = form.get('name') ?? '';
    switch (form.get('do')) {
      case 'create':
        return shownOnce(await source.create(identity, newToken(form, source), signal), 'was made');
      case 'rotate':
        return shownOnce(await source.rotate(identity, name, OVERLAP, signal), 'has another secret');
      case 'revoke':
        await source.revoke(identity, name, signal);
        return { text: `The token ${name} is revoked.` };
      default:
        throw mistake('This form is not known here.');
    }
  },
});

function shownOnce({ metadata, status }: ShownToken, what: string): Flash {
  const { token, expirationTimestamp } = status;
  return {
    text: `The token ${metadata.name} ${what}. It ends on ${formatTime(Date.parse(expirationTimestamp))}.`,
    ...(token !== undefined && { secret: token }),
  };
}

/** @throws StatusError ObjectInvalid */
function newToken(form: URLSearchParams, tokens: Visit<AccessTokens>['source']) {
  const description = (form.get('description') ?? '').trim();
  const scopes = [...scopesOf(form), ...form.getAll('words')];
  const days = Number(form.get('days'));
  if (!Number.isInteger(days) || days < 1)
    throw mistake('Enter for how many days the token counts: 1 or more.');
  const longest = Math.floor(tokens.longestLife({ scopes }) / 1_000);
  return {
    ...(description !== '' && { description }),
    scopes,
    expirationSeconds: Math.min(days * SECONDS_OF_DAY, longest),
  };
}

function scopesOf(form: URLSearchParams): string[] {
  const level = form.get('level') ?? '';
  if (level === 'session' || level === 'userinfo') return [level];
  if (form.get('where') === 'tenant') return [`tenant/${level}`];
  const names = (form.get('namespaces') ?? '').split(/[\s,]+/).filter((name) => name !== '');
  if (names.length === 0)
    throw mistake('Enter the namespaces in which the token counts, or choose the whole tenant.');
  return names.map((name) => `namespace/${name}/${level}`);
}
