/**
 * The sign-in page and its form: user, password, domain and project are sent to Keystone only. Attempts are
 * counted per source and per user before Keystone is called; like Keystone, the page does not say which of
 * the values was wrong.
 */
import { MAX_LENGTH } from '../page-parts.ts';
import { ownName } from './account.ts';
import type { KeystoneSignIn, PortalContext } from './context.ts';
import { newID, setCookie, VISIT_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { navigationOf } from './navigation.ts';
import { type SignInPage, signInPage } from './pages/sign-in-page.ts';
import { notFound, staleForm, tooManySignIns } from './problem.ts';
import { type PortalRequest, readForm, redirectTarget } from './request.ts';
import { type PortalResponse, page, seeOther } from './response.ts';
import { linkSecret } from './secret-link.ts';
import { beginSession, currentSession } from './session.ts';

const KEYSTONE_ACTION = '/login/keystone';

/** Notices by their value in the query; no text from the query is shown. */
const NOTICES: ReadonlyMap<string | null, string> = new Map([
  ['signed-out', 'You have signed out.'],
  ['ended', 'Your session has ended. Sign in again.'],
]);

export async function showSignIn(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { query } = request;
  const session = await currentSession(request, context);
  const notice = NOTICES.get(query.get('notice'));
  return showForm(200, request, context, {
    flash: notice === undefined ? undefined : { text: notice },
    signedInAs: session && ownName(session),
    navigation: navigationOf(session, request, context),
    next: redirectTarget(query.get('next'), context),
    entered: new URLSearchParams(),
    refusal: undefined,
  });
}

export async function signInWithPassword(
  request: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const { keystone, limit, origin, formTokens, clock, logger } = context;
  const { exchange, visitID, source } = request;
  if (keystone === undefined) throw notFound();
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const entered = await readForm(request, clock);
  if (!formTokens.verify(entered.get('token'), visitID, KEYSTONE_ACTION)) throw staleForm();

  const next = redirectTarget(entered.get('next'), context);
  const navigation = navigationOf(await currentSession(request, context), request, context);
  const showAgain = (status: number, message: string, fields: readonly string[] = []) => {
    const refusal = { message, details: { causes: fields.map((field) => ({ field })) } };
    const shown = { navigation, entered, next, flash: undefined, refusal };
    return { ...showForm(status, request, context, shown), refusal: { message } };
  };

  const field = (name: string) => entered.get(name) ?? '';
  const [user, password] = [field('user'), field('password')];
  const [domain, project] = [field('domain'), field('project')];
  const missing = ['user', 'password', 'domain'].filter((name) => field(name) === '');
  if (missing.length > 0)
    return showAgain(
      422,
      'Enter your user name, your password, and the domain your user belongs to.',
      missing,
    );
  const tooLong = ['user', 'password', 'domain', 'project'].filter((name) => field(name).length > MAX_LENGTH);
  if (tooLong.length > 0) return showAgain(422, `No value has more than ${MAX_LENGTH} characters.`, tooLong);
  const tried = JSON.stringify([domain, user].map(normalized));
  const limited = limit.admit(source, tried);
  if (limited !== undefined) {
    logger.warn({ source, limited }, 'portal: too many sign-in attempts');
    const { text, headers = [] } = tooManySignIns().problem;
    const shown = showAgain(429, text);
    return { ...shown, headers: [...shown.headers, ...headers] };
  }
  const credentials = { user, domain, password, project: project === '' ? undefined : project };
  const result = await keystone.login.signIn(credentials, exchange.signal);
  if ('refused' in result) {
    logger.info({ source, refused: result.refused }, 'portal: Keystone refused a password');
    return showAgain(403, reasonOf(result.refused, keystone));
  }
  limit.succeeded(tried);
  const credential = { kind: 'x-auth-token', token: result.token } as const;
  const { token: exchangeable, projects } = result;
  return beginSession({ credential, projects, exchangeable, next }, request, context);
}

/**
 * Keystone's database treats `Alice `, `alice` and `álice` as one user, so they are one in the limit.
 */
function normalized(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').trim().toLowerCase();
}

function reasonOf(refused: 'wrong' | 'second-factor', { displayName }: KeystoneSignIn): string {
  return refused === 'wrong'
    ? `${displayName} does not accept this. Check user name, password, domain and project.`
    : `${displayName} wants a second factor, which cannot be asked for here. Sign in where it can be, and use an application credential with "stonegate login --keystone".`;
}

type Shown = Pick<SignInPage, 'flash' | 'refusal' | 'entered' | 'signedInAs' | 'navigation' | 'next'>;

function showForm(
  status: number,
  request: PortalRequest,
  context: PortalContext,
  shown: Shown,
): PortalResponse {
  const { visitID } = request;
  const { cluster, providers, keystone, formTokens, random, clock, pages } = context;
  const visit = visitID ?? newID(random);
  const next = pages.find(({ path }) => path === shown.next);
  const secret = next && linkSecret(next, request, context);
  const content = signInPage({
    ...shown,
    ...{ server: cluster.server, providers, keystone },
    target: KEYSTONE_ACTION,
    formToken: formTokens.issue(visit, KEYSTONE_ACTION),
    now: clock.now(),
    greeting: secret === undefined ? undefined : next?.greeting?.(secret),
  });
  return page(status, content, visitID === undefined ? [setCookie(VISIT_COOKIE, visit)] : []);
}

/** Redirects a user without a session to the sign-in page. */
export function toSignIn({ sessionID }: PortalRequest, next: string): PortalResponse {
  const query = new URLSearchParams({
    ...(next === '/' ? {} : { next }),
    ...(sessionID === undefined ? {} : { notice: 'ended' }),
  });
  return seeOther(query.size === 0 ? '/login' : `/login?${query.toString()}`);
}
