/**
 * A page of a signed-in user, perhaps with forms. After a form was done the browser is redirected to the
 * page, so that a reload repeats nothing; a form that is refused is shown again with what was entered.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { RequestOrigin } from '../../proxy/as-identity.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, FLASH_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { type Flash, flashCookie, flashOf } from './flash.ts';
import type { Html } from './html.ts';
import { navigationOf } from './navigation.ts';
import type { Forms } from './pages/form-parts.ts';
import type { Frame } from './pages/layout.ts';
import type { Session } from './portal-storage.ts';
import { notFound, staleForm } from './problem.ts';
import { type PortalRequest, readForm, redirectTarget } from './request.ts';
import { type PortalResponse, page, seeOther } from './response.ts';
import { currentSession } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';

export interface Visit<Source> extends Forms {
  readonly source: Source;
  readonly identity: Identity;
  readonly session: Session;
  readonly request: PortalRequest;
  readonly context: PortalContext;
  readonly frame: Frame;
  /** How something is changed for this request. */
  readonly change: { readonly origin: RequestOrigin; readonly signal: AbortSignal };
}

export interface UserPage<Source> {
  readonly path: string;
  /** Without a source there is no page. */
  readonly sourceOf: (context: PortalContext) => Source | undefined;
  readonly show: (visit: Visit<Source>) => Html | Promise<Html>;
  /**
   * Does what a form asks for; a StatusError is shown above the form.
   *
   * @returns what the page says of it
   */
  readonly act?: (form: URLSearchParams, visit: Visit<Source>) => Promise<Flash>;
  /** Headers of the response to a form that was done. */
  readonly headers?: Parameters<typeof seeOther>[1];
}

type Handle = (request: PortalRequest, context: PortalContext) => Promise<PortalResponse>;

export function userPage<Source>({ path, sourceOf, show, act, headers = [] }: UserPage<Source>): {
  readonly GET: Handle;
  readonly POST?: Handle;
} {
  function visitOf(request: PortalRequest, context: PortalContext, session: Session): Visit<Source> {
    const source = sourceOf(context);
    if (source === undefined) throw notFound();
    const navigation = navigationOf(session, request, context);
    const { identity } = session;
    return {
      ...{ source, identity, session, request, context },
      change: {
        origin: { auditID: context.random.uuid(), clientAddress: request.source },
        signal: request.exchange.signal,
      },
      frame: { server: context.cluster.server, navigation },
      target: request.exchange.target,
      formToken: context.formTokens.issue(request.sessionID ?? '', path),
      flash: flashOf(request, context),
      entered: new URLSearchParams(),
      refusal: undefined,
    };
  }

  async function GET(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
    if (sourceOf(context) === undefined) throw notFound();
    const session = await currentSession(request, context);
    if (session === undefined) return toSignIn(request, redirectTarget(request.exchange.target, path));
    const visit = visitOf(request, context, session);
    return page(200, await show(visit), visit.flash === undefined ? [] : [clearCookie(FLASH_COOKIE)]);
  }
  if (act === undefined) return { GET };
  return {
    GET,
    async POST(request, context) {
      const { form, session } = await readOwnForm(request, context, path);
      const { target } = request.exchange;
      if (session === undefined) return toSignIn(request, redirectTarget(target, path));
      const visit = visitOf(request, context, session);
      try {
        const flash = await act(form, visit);
        const { username } = context.identities.describe(session.identity).user;
        const done = { path, action: form.get('do'), user: username, source: request.source };
        context.logger.info(done, 'portal: a form was done');
        return seeOther(target, [...headers, flashCookie(flash, request, context)]);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        const refused = { ...visit, flash: undefined, entered: form, refusal: error };
        context.logger.info({ path, code: error.code, cause: error.cause }, `portal: ${error.message}`);
        return page(error.http === 401 ? 403 : error.http, await show(refused));
      }
    },
  };
}

/** What a user has to correct in a form. */
export function mistake(text: string): StatusError {
  return new StatusError('ObjectInvalid', text);
}

/**
 * @returns without the session if it has ended
 * @throws PortalProblem if the form is not of this portal and this session
 */
export async function readOwnForm(request: PortalRequest, context: PortalContext, action: string) {
  const { exchange, sessionID } = request;
  const { formTokens, origin, clock } = context;
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  const session = await currentSession(request, context);
  if (session !== undefined && !formTokens.verify(form.get('token'), sessionID, action)) throw staleForm();
  return { form, session };
}
