/**
 * The portal: pages on which users sign in and set up kubectl. It has a closed list of paths, and every error
 * becomes a page. It requires a host name of its own: under the API's, a browser would send its cookies to
 * pages that tenants serve.
 */
import type { Exchange } from '../../lib/exchange.ts';
import { headerValues } from '../../lib/header-list.ts';
import { jsonResponse } from '../../proxy/response/own-responses.ts';
import { serveSession } from '../../proxy/session-request.ts';
import { CLIENT_SETUP_PATH } from '../client-setup/client-setup-v1alpha1.ts';
import { showKubeconfig, signOut, switchProject } from './account-handlers.ts';
import { CLIENT_PATH, ICON } from './assets.ts';
import type { OwnPage, PortalContext, PortalOptions } from './context.ts';
import { createFormTokens } from './csrf.ts';
import { createShownFlashes } from './flash.ts';
import { navigationOf } from './navigation.ts';
import { callbackPath, finishOIDC, startOIDC } from './oidc-handlers.ts';
import type { Provider } from './oidc-portal.ts';
import { ACCOUNT_PAGE } from './pages/account-page.ts';
import { methodNotAllowed, misdirected, notFound, problemOf, problemPage, refusalBy } from './problem.ts';
import { type PortalRequest, readRequest } from './request.ts';
import { type PortalResponse, page, secured } from './response.ts';
import { followLink } from './secret-link.ts';
import { currentSession } from './session.ts';
import { showSignIn, signInWithPassword } from './sign-in-handlers.ts';
import { pageHandlers } from './user-page.ts';

type Handler = (request: PortalRequest, context: PortalContext) => PortalResponse | Promise<PortalResponse>;

type Route = Readonly<Partial<Record<'GET' | 'POST', Handler>>>;
type Routes = ReadonlyMap<string, Route>;

const ROUTES: Routes = new Map<string, Route>([
  ['/kubeconfig', { GET: showKubeconfig }],
  ['/login', { GET: showSignIn }],
  ['/login/keystone', { POST: signInWithPassword }],
  ['/login/oidc', { GET: startOIDC }],
  ['/logout', { POST: signOut }],
  ['/project', { POST: switchProject }],
  ['/icon.svg', { GET: showIcon }],
  [CLIENT_PATH, { GET: showClient }],
  [CLIENT_SETUP_PATH, { GET: showClientSetup }],
]);

/** @returns a function that serves one request and never rejects */
export function createPortal(options: PortalOptions): (exchange: Exchange) => Promise<void> {
  const { sealer, clock, publicURL, providers } = options;
  const pages = [ACCOUNT_PAGE, ...options.pages];
  const routes: Routes = new Map([...pages.flatMap(pageRoutes), ...ROUTES, ...callbackRoutes(providers)]);
  const context: PortalContext = {
    ...options,
    pages,
    origin: new URL(publicURL).origin,
    formTokens: createFormTokens({ sealer, clock }),
    shownFlashes: createShownFlashes(clock),
  };
  return (exchange) => {
    const request = readRequest(exchange, context, (path) => routes.has(path));
    return serveSession(
      request.observed,
      exchange,
      context,
      async () => {
        if (!isAtOwnHost(request, context)) throw misdirected(context.origin);
        return secured(await handlerOf(request, routes)(request, context));
      },
      async (error) => secured(await refuse(error, request, context)),
    );
  };
}

function callbackRoutes(providers: readonly Provider[]): [string, Route][] {
  return providers.map((provider) => [
    callbackPath(provider),
    { GET: (request, context) => finishOIDC(provider, request, context) },
  ]);
}

function pageRoutes(page: OwnPage): [string, Route][] {
  const shown: [string, Route] = [page.path, pageHandlers(page)];
  if (page.greeting === undefined) return [shown];
  return [shown, [`${page.path}/`, { GET: (request, context) => followLink(page, request, context) }]];
}

function isAtOwnHost({ exchange }: PortalRequest, { origin }: PortalContext): boolean {
  const hosts = headerValues(exchange.headers, 'host').map((host) => host.toLowerCase());
  return hosts.length === 1 && hosts[0] === new URL(origin).host;
}

function handlerOf({ route: path, method }: PortalRequest, routes: Routes): Handler {
  const route = routes.get(path);
  if (route === undefined) throw notFound();
  const handler =
    method === 'POST' ? route.POST : method === 'GET' || method === 'HEAD' ? route.GET : undefined;
  if (handler === undefined) throw methodNotAllowed(Object.keys(route));
  return handler;
}

async function refuse(
  error: unknown,
  request: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const problem = problemOf(error, request);
  const session = isAtOwnHost(request, context) ? await currentSession(request, context) : undefined;
  const content = problemPage(problem, context.cluster.server, navigationOf(session, request, context));
  const refusal = refusalBy(error, request.observed.auditID);
  return { ...page(problem.status, content, problem.headers), refusal };
}

/** As at the API: users may know one address alone. */
function showClientSetup(_request: PortalRequest, { clientSetup }: PortalContext): PortalResponse {
  return jsonResponse(200, clientSetup);
}

function showIcon(): PortalResponse {
  return { status: 200, headers: [['Content-Type', 'image/svg+xml']], body: ICON };
}

/** Needs no session: it holds nothing of a user's, and curl has none. */
function showClient(_request: PortalRequest, { client }: PortalContext): PortalResponse {
  if (client === undefined) throw notFound();
  return { status: 200, headers: [['Content-Type', 'application/octet-stream']], body: client.file };
}
