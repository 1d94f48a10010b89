/**
 * A page of a signed-in user, perhaps with forms. After a form is done the browser is redirected to the page,
 * so that a reload repeats nothing, or gets a file; a form that is refused is shown again with what was
 * entered.
 */
import { StatusError } from '../../errors/status-error.ts';
import { ownValue } from '../../lib/json-object.ts';
import type { RequestOrigin } from '../../proxy/as-identity.ts';
import { asSession, type OwnRequest, setUser } from '../../proxy/session-request.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, FLASH_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { type Flash, flashCookie, flashOf, isFirstShown } from './flash.ts';
import { type Content, type Html, html } from './html.ts';
import { navigationOf } from './navigation.ts';
import { layout } from './pages/layout.ts';
import { type Forms, outcome } from './pages/page-parts.ts';
import type { Session } from './portal-storage.ts';
import { notFound, problemOf, refusalBy, staleForm, tooManyForms } from './problem.ts';
import { type PortalRequest, readForm, redirectTarget } from './request.ts';
import { download, type PortalResponse, page, seeOther } from './response.ts';
import { currentSession, userOf } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';

export interface Visit<Source> extends Forms {
  readonly source: Source;
  readonly identity: Identity;
  readonly session: Session;
  readonly request: PortalRequest;
  readonly context: PortalContext;
  /** The fields of the request's query that the page has a meaning for; its forms are sent there. */
  readonly query: URLSearchParams;
  /** What the rows of lists have in their names; empty for all rows. */
  readonly filter: string;
  /** How something is changed for this request. */
  readonly change: { readonly origin: RequestOrigin; readonly signal: AbortSignal };
}

export interface PageContent {
  readonly title: string;
  /** Defaults to the title. */
  readonly heading?: Content;
  readonly lead?: Content;
  readonly main: Content;
  readonly narrow?: boolean;
  /** Renders a secret that is shown once. */
  readonly secret?: (text: string) => Html;
  /** Replaces the reason why a form was refused. */
  readonly question?: Html | undefined;
}

export interface UserPage<Source> {
  readonly path: string;
  /** The request that is audited and charged for the page. */
  readonly standsFor: (query: URLSearchParams) => OwnRequest;
  /** Without a source there is no page. */
  readonly sourceOf: (context: PortalContext) => Source | undefined;
  /** A query with which the browser asks again if it named no object; undefined to show the page. */
  readonly preselect?: (visit: Visit<Source>) => Promise<Readonly<Record<string, string>> | undefined>;
  readonly show: (visit: Visit<Source>) => PageContent | Promise<PageContent>;
  /** The request of each action of the page's forms, their fields `do`; a form with any other is refused. */
  readonly actions?: Readonly<Record<string, (form: URLSearchParams, query: URLSearchParams) => OwnRequest>>;
  /** Does what a form asks for; a StatusError is shown above the form. */
  readonly act?: (form: URLSearchParams, visit: Visit<Source>) => Promise<Done>;
  /** Headers of the response to a form that was done. */
  readonly headers?: Parameters<typeof seeOther>[1];
}

export interface Done extends Flash {
  /** Sent in place of the page, which has the text of the flash when it is shown next. */
  readonly kubeconfig?: { readonly fileName: string; readonly content: string };
}

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

/** @returns the path with its handlers */
export function userPage<Source>({
  path,
  standsFor,
  sourceOf,
  preselect,
  show,
  actions = {},
  act,
  headers = [],
}: UserPage<Source>): [path: string, handlers: { readonly GET: Handle; readonly POST?: Handle }] {
  function withQuery(query: URLSearchParams): string {
    return query.size === 0 ? path : `${path}?${query.toString()}`;
  }

  function visitOf(request: PortalRequest, context: PortalContext, session: Session): Visit<Source> {
    const source = sourceOf(context);
    if (source === undefined) throw notFound();
    const query = queryOf(request);
    return {
      ...{ source, identity: session.identity, session, request, context, query },
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
  async function admitForm(visit: Visit<Source>, own: OwnRequest, form: URLSearchParams): Promise<void> {
    const { session, request, context, target } = visit;
    try {
      await asSession(request.observed, userOf(session, request, context), context, own);
    } catch (error) {
      throw error instanceof StatusError ? tooManyForms(error, request, target, form) : error;
    }
  }

  async function render(visit: Visit<Source>): Promise<Html> {
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
    if (sourceOf(context) === undefined) throw notFound();
    const session = await currentSession(request, context);
    if (session === undefined) return toSignIn(request, redirectTarget(request.exchange.target, path));
    const visit = visitOf(request, context, session);
    const isPaid = visit.flash !== undefined && isFirstShown(request, context);
    const user = userOf(session, request, context);
    await asSession(request.observed, user, context, standsFor(visit.query), isPaid);
    const preselected = await preselect?.(visit);
    if (preselected !== undefined) return seeOther(withQuery(new URLSearchParams(preselected)));
    return page(200, await render(visit), visit.flash === undefined ? [] : [clearCookie(FLASH_COOKIE)]);
  }
  if (act === undefined) return [path, { GET }];

  const POST: Handle = async (request, context) => {
    const { form, session } = await readOwnForm(request, context, path);
    if (session === undefined) return toSignIn(request, redirectTarget(request.exchange.target, path));
    const visit = visitOf(request, context, session);
    const asked = ownValue(actions, form.get('do') ?? '')?.(form, visit.query);
    await admitForm(visit, asked ?? standsFor(visit.query), form);
    try {
      if (asked === undefined) throw mistake('This form is not known here.');
      const { kubeconfig, ...flash } = await act(form, visit);
      const sent = [...headers, flashCookie(flash, request, context)];
      return kubeconfig === undefined
        ? seeOther(visit.target, sent)
        : download(kubeconfig.fileName, kubeconfig.content, sent);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const refused = { ...visit, flash: undefined, entered: form, refusal: error };
      const { auditID } = request.observed;
      const { status, headers: wait } = problemOf(error, request);
      return { ...page(status, await render(refused), wait), refusal: refusalBy(error, auditID) };
    }
  };
  return [path, { GET, POST }];
}

/**
 * What a user has to correct in a form.
 *
 * @param field its name; undefined if it is no field
 */
export function mistake(text: string, field?: string): StatusError {
  return new StatusError(
    'ObjectInvalid',
    text,
    field === undefined ? {} : { details: { causes: [{ field }] } },
  );
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
