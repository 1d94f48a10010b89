/**
 * The page to sign in at, and its form: user, password, domain and project go to Keystone, and nowhere else. Tries are
 * counted per source and per user before Keystone is asked. What was wrong is not told apart, since Keystone does not
 * either.
 */
import type { HeaderField } from '../lib/header-list.ts';
import { ownName } from './account.ts';
import { type Answer, page, seeOther } from './answer.ts';
import { beginSession } from './begin-session.ts';
import type { KeystoneWay, PortalContext } from './context.ts';
import { setCookie, VISIT_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { currentSession } from './current-session.ts';
import { FIELDS, type Field, type SignInPage, signInPage } from './pages/sign-in-page.ts';
import { notFound, staleForm } from './problem.ts';
import { redirectTarget } from './redirect-target.ts';
import { type PortalRequest, readForm } from './request.ts';
import { newID } from './session.ts';

const KEYSTONE_ACTION = '/login/keystone';

/** What the sign-in page may be asked to say: nothing from outside is shown. */
const NOTICES: Readonly<Record<string, string>> = {
  'signed-out': 'You have signed out.',
  ended: 'Your session has ended. Sign in again.',
};

const MISSING: Readonly<Partial<Record<Field, string>>> = {
  user: 'Enter your user name',
  password: 'Enter your password',
  domain: 'Enter the domain your user belongs to',
};
const TOO_LONG = 255;

export async function showSignIn(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const { query } = request;
  const session = await currentSession(request, context);
  const notice = query.get('notice') ?? '';
  return showForm(200, request, context, {
    notice: Object.hasOwn(NOTICES, notice) ? NOTICES[notice] : undefined,
    signedInAs: session && ownName(session),
    next: redirectTarget(query.get('next')),
    values: { domain: context.keystone?.defaultDomain ?? '' },
    mistakes: {},
  });
}

export async function signInWithPassword(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const { keystone, limit, origin, formTokens, clock, logger } = context;
  const { exchange, visitID, source } = request;
  if (keystone === undefined) throw notFound();
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  if (!formTokens.verify(form.get('token'), visitID, KEYSTONE_ACTION)) throw staleForm();

  const values = Object.fromEntries(FIELDS.map((name) => [name, form.get(name) ?? '']));
  const next = redirectTarget(form.get('next'));
  const again = (status: number, mistakes: SignInPage['mistakes'], headers: readonly HeaderField[] = []) =>
    showForm(status, request, context, { values, mistakes, next }, headers);

  const mistakes = mistakesIn(values);
  if (Object.keys(mistakes).length > 0) return again(422, mistakes);
  const { user = '', domain = '', password = '', project = '' } = values;
  const limited = limit.admit(source, JSON.stringify([domain, user].map(folded)));
  if (limited !== undefined) {
    logger.warn({ source, limited }, 'portal: too many sign-ins tried');
    return again(429, { form: tooMany(limited) }, [['Retry-After', '60']]);
  }
  const wish = { user, domain, password, project: project === '' ? undefined : project };
  const result = await keystone.login.signIn(wish, exchange.signal);
  if ('refused' in result) {
    logger.info({ source, refused: result.refused }, 'portal: Keystone refused a password');
    return again(403, mistakeOf(result.refused, keystone));
  }
  const credential = { kind: 'x-auth-token', token: result.token } as const;
  return beginSession({ credential, projects: result.projects, next }, request, context);
}

/** Keystone's database takes `Alice `, `alice` and `álice` for one user: spellings are not to be tries of their own. */
function folded(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').trim().toLowerCase();
}

function mistakesIn(values: Readonly<Record<string, string>>): SignInPage['mistakes'] {
  const mistakes: SignInPage['mistakes'] = {};
  for (const name of FIELDS) {
    const value = values[name] ?? '';
    const mistake = value === '' ? MISSING[name] : value.length > TOO_LONG ? 'This is too long' : undefined;
    if (mistake !== undefined) mistakes[name] = mistake;
  }
  return mistakes;
}

function mistakeOf(refused: 'wrong' | 'second-factor', { displayName }: KeystoneWay): SignInPage['mistakes'] {
  return refused === 'wrong'
    ? { form: `${displayName} does not accept this. Check user name, password, domain and project.` }
    : {
        form: `${displayName} wants a second factor, which cannot be asked for here. Sign in where it can be, and use an application credential with "stonegate login --keystone".`,
      };
}

function tooMany(limited: 'source' | 'user'): string {
  const what = limited === 'user' ? 'for this user' : 'from your address';
  return `Too many tries ${what}. Wait a minute, then try again.`;
}

type Shown = Pick<SignInPage, 'notice' | 'signedInAs' | 'next' | 'values' | 'mistakes'>;

function showForm(
  status: number,
  { visitID }: PortalRequest,
  { cluster, providers, keystone, formTokens, random }: PortalContext,
  shown: Shown,
  headers: readonly HeaderField[] = [],
): Answer {
  const visit = visitID ?? newID(random);
  const content = signInPage({
    ...shown,
    server: cluster.server,
    providers,
    keystone,
    formToken: formTokens.issue(visit, KEYSTONE_ACTION),
  });
  return page(status, content, [
    ...headers,
    ...(visitID === undefined ? [setCookie(VISIT_COOKIE, visit)] : []),
  ]);
}

/** To the page to sign in at, for whoever has not. */
export function toSignIn({ sessionID }: PortalRequest, next: string): Answer {
  const query = new URLSearchParams({
    ...(next === '/' ? {} : { next }),
    ...(sessionID === undefined ? {} : { notice: 'ended' }),
  });
  return seeOther(query.size === 0 ? '/login' : `/login?${query.toString()}`);
}
