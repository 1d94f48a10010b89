/**
 * A page of a signed-in user, perhaps with forms. After a form is done the browser is redirected to the page,
 * so that a reload repeats nothing, or gets a file; a form that is refused is shown again with what was
 * entered.
 */
import { StatusError } from '../../errors/status-error.ts';
import { type Html, html } from '../../lib/html.ts';
import { ownValue } from '../../lib/json-object.ts';
import type { OwnRequest } from '../../proxy/portal-page.ts';
import { asSession, setUser } from '../../proxy/session-request.ts';
import { mistake, outcome } from '../page-parts.ts';
import { accountOf } from './account.ts';
import type { OwnPage, OwnVisit, PortalContext } from './context.ts';
import { clearCookie, FLASH_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { flashCookie, flashOf, isFirstShown } from './flash.ts';
import { kubeconfigFileName, kubeconfigWithToken } from './kubeconfig.ts';
import { navigationOf } from './navigation.ts';
import { layout } from './pages/layout.ts';
import type { Session } from './portal-storage.ts';
import { problemOf, refusalBy, staleForm, tooManyForms } from './problem.ts';
import { type PortalRequest, readForm, redirectTarget } from './request.ts';
import { download, type PortalResponse, page, seeOther } from './response.ts';
import { clearSecret, linkSecret } from './secret-link.ts';
import { currentSession, userOf } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';

type Handle = (request: PortalRequest, context: PortalContext) => Promise<PortalResponse>;

const QUERY = ['namespace', 'name'] as const;
/** Characters of one of them: no name in Kubernetes has more. */
const MAX_QUERY = 253;

function queryOf({ query }: PortalRequest): URLSearchParams {
  const known = new URLSearchParams();
  for (const field of QUERY) {
    const value = query.get(field);
    if (value) known.set(field, value.slice(0, MAX_QUERY));
  }
  return known;
}

export function pageHandlers(shown: OwnPage): { readonly GET: Handle; readonly POST?: Handle } {
  const { path, standsFor, preselect, show, actions = {}, act } = shown;

  function withQuery(query: URLSearchParams): string {
    return query.size === 0 ? path : `${path}?${query.toString()}`;
  }

  function visitOf(
    request: PortalRequest,
    context: PortalContext,
    session: Session,
    query = queryOf(request),
  ): OwnVisit {
    return {
      ...{ path, identity: session.identity, session, request, context, query },
      account: accountOf(session, context),
      secret: linkSecret(shown, request, context),
      now: context.clock.now(),
      change: {
        origin: { auditID: request.observed.auditID, clientAddress: request.source },
        signal: request.exchange.signal,
      },
      target: withQuery(query),
      filter: query.get('name') ?? '',
      formToken: context.formTokens.issue(request.sessionID ?? '', path),
      flash: flashOf(request, context),
      entered: new URLSearchParams(),
      refusal: undefined,
    };
  }

  /** @throws PortalProblem that keeps the form if a rate is exceeded */
  async function admitForm(visit: OwnVisit, own: OwnRequest, form: URLSearchParams): Promise<void> {
    const { session, request, context, target } = visit;
    try {
      await asSession(request.observed, userOf(session, request, context), context, own);
    } catch (error) {
      throw error instanceof StatusError ? tooManyForms(error, request, target, form) : error;
    }
  }

  async function render(visit: OwnVisit): Promise<Html> {
    const { session, request, context, refusal } = visit;
    const { title, heading = title, lead, main, narrow = false, secret, question } = await show(visit);
    return layout({
      title: refusal === undefined ? title : `Error: ${title}`,
      narrow,
      server: context.cluster.server,
      navigation: navigationOf(session, request, context),
      main: html`${question ?? outcome(visit, secret)}
<h1>${heading}</h1>
${lead !== undefined && html`<p class="lead">${lead}</p>`}
${main}`,
    });
  }

  async function GET(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
    const session = await currentSession(request, context);
    if (session === undefined)
      return toSignIn(request, redirectTarget(request.exchange.target, context, path));
    const asked = visitOf(request, context, session);
    const isPaid = asked.flash !== undefined && isFirstShown(request, context);
    const user = userOf(session, request, context);
    await asSession(request.observed, user, context, standsFor(asked.query), isPaid);
    const preselected = await preselect?.(asked);
    const query = preselected && new URLSearchParams(preselected);
    const visit = query === undefined ? asked : visitOf(request, context, session, query);
    // The event of the response names the object that is shown.
    if (query !== undefined) await asSession(request.observed, user, context, standsFor(query), true);
    return page(200, await render(visit), visit.flash === undefined ? [] : [clearCookie(FLASH_COOKIE)]);
  }
  if (act === undefined) return { GET };

  const POST: Handle = async (request, context) => {
    const { form, session } = await readOwnForm(request, context, path);
    if (session === undefined)
      return toSignIn(request, redirectTarget(request.exchange.target, context, path));
    const visit = visitOf(request, context, session);
    const asked = ownValue(actions, form.get('do') ?? '')?.(form, visit.query);
    await admitForm(visit, asked ?? standsFor(visit.query), form);
    try {
      if (asked === undefined) throw mistake('This form is not known here.');
      const { kubeconfig, ...flash } = await act(form, visit);
      const sent = [...clearSecret(shown), flashCookie(flash, request, context)];
      if (kubeconfig === undefined) return seeOther(visit.target, sent);
      const { cluster } = context;
      const fileName = kubeconfigFileName(cluster, kubeconfig.name);
      return download(fileName, kubeconfigWithToken(cluster, kubeconfig), sent);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const refused = { ...visit, flash: undefined, entered: form, refusal: error };
      const { auditID } = request.observed;
      const { status, headers: wait } = problemOf(error, request);
      return { ...page(status, await render(refused), wait), refusal: refusalBy(error, auditID) };
    }
  };
  return { GET, POST };
}

/**
 * @returns without the session if it has ended
 * @throws PortalProblem if the form is not of this portal and this session
 */
export async function readOwnForm(request: PortalRequest, context: PortalContext, action: string) {
  const { exchange, sessionID } = request;
  const { formTokens, origin, clock } = context;
  const session = await currentSession(request, context);
  if (session !== undefined) setUser(request.observed, userOf(session, request, context));
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  if (session !== undefined && !formTokens.verify(form.get('token'), sessionID, action)) throw staleForm();
  return { form, session };
}
