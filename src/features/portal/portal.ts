/**
 * The portal: pages on which users sign in and set up kubectl. It has a closed list of paths, and every error
 * becomes a page. It requires a host name of its own: under the API's, a browser would send its cookies to
 * pages that tenants serve.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { headerValues } from '../../lib/header-list.ts';
import { showKubeconfig, signOut, switchProject } from './account-handlers.ts';
import { CLIENT_PATH, ICON } from './assets.ts';
import type { PortalContext, PortalOptions } from './context.ts';
import { createFormTokens } from './csrf.ts';
import { navigationOf } from './navigation.ts';
import { callbackPath, finishOIDC, startOIDC } from './oidc-handlers.ts';
import type { Provider } from './oidc-portal.ts';
import { ACCESS_PAGE } from './pages/access-page.ts';
import { ACCOUNT_PAGE } from './pages/account-page.ts';
import { followInvitation, INVITATION_PAGE } from './pages/invitation-page.ts';
import type { Navigation } from './pages/layout.ts';
import { MEMBERS_PAGE } from './pages/members-page.ts';
import { QUOTA_PAGE } from './pages/quota-page.ts';
import { TEAMS_PAGE } from './pages/teams-page.ts';
import { TOKENS_PAGE } from './pages/tokens-page.ts';
import { methodNotAllowed, misdirected, notFound, PortalProblem, problemOf, problemPage } from './problem.ts';
import { INVITATION_LINK, type PortalRequest, readRequest } from './request.ts';
import { type PortalResponse, page, send } from './response.ts';
import { currentSession } from './session.ts';
import { showSignIn, signInWithPassword } from './sign-in-handlers.ts';

type Handler = (request: PortalRequest, context: PortalContext) => PortalResponse | Promise<PortalResponse>;

type Route = Readonly<Partial<Record<'GET' | 'POST', Handler>>>;
type Routes = ReadonlyMap<string, Route>;

const ROUTES: Routes = new Map<string, Route>([
  ACCOUNT_PAGE,
  ACCESS_PAGE,
  QUOTA_PAGE,
  TOKENS_PAGE,
  MEMBERS_PAGE,
  TEAMS_PAGE,
  INVITATION_PAGE,
  [INVITATION_LINK, { GET: followInvitation }],
  ['/kubeconfig', { GET: showKubeconfig }],
  ['/login', { GET: showSignIn }],
  ['/login/keystone', { POST: signInWithPassword }],
  ['/login/oidc', { GET: startOIDC }],
  ['/logout', { POST: signOut }],
  ['/project', { POST: switchProject }],
  ['/icon.svg', { GET: showIcon }],
  [CLIENT_PATH, { GET: showClient }],
]);

/** @returns a function that serves one request and never rejects */
export function createPortal(options: PortalOptions): (exchange: Exchange) => Promise<void> {
  const { sealer, clock, publicURL, providers } = options;
  const routes: Routes = new Map([...ROUTES, ...callbackRoutes(providers)]);
  const context: PortalContext = {
    ...options,
    origin: new URL(publicURL).origin,
    formTokens: createFormTokens({ sealer, clock }),
  };
  return async (exchange) => {
    send(exchange, await respond(exchange, context, routes));
  };
}

function callbackRoutes(providers: readonly Provider[]): [string, Route][] {
  return providers.map((provider) => [
    callbackPath(provider),
    { GET: (request, context) => finishOIDC(provider, request, context) },
  ]);
}

async function respond(exchange: Exchange, context: PortalContext, routes: Routes): Promise<PortalResponse> {
  try {
    requireOwnHost(exchange, context);
    const request = readRequest(exchange, context.trustedProxies);
    try {
      return await handlerOf(request, routes)(request, context);
    } catch (error) {
      const session = await currentSession(request, context);
      return refuse(error, context, navigationOf(session, request, context));
    }
  } catch (error) {
    return refuse(error, context);
  }
}

function requireOwnHost({ headers }: Exchange, { origin }: PortalContext): void {
  const hosts = headerValues(headers, 'host').map((host) => host.toLowerCase());
  if (hosts.length !== 1 || hosts[0] !== new URL(origin).host) throw misdirected(origin);
}

function handlerOf({ path, method }: PortalRequest, routes: Routes): Handler {
  const route = routes.get(path.startsWith(INVITATION_LINK) ? INVITATION_LINK : path);
  if (route === undefined) throw notFound();
  const handler =
    method === 'POST' ? route.POST : method === 'GET' || method === 'HEAD' ? route.GET : undefined;
  if (handler === undefined) throw methodNotAllowed(Object.keys(route));
  return handler;
}

function refuse(
  error: unknown,
  { random, logger, cluster }: PortalContext,
  navigation?: Navigation,
): PortalResponse {
  const id = random.uuid();
  if (error instanceof StatusError) {
    logger.info({ id, code: error.code, cause: error.cause }, `portal: ${error.message}`);
  } else if (!(error instanceof PortalProblem)) {
    logger.error({ id, error }, 'serving a page of the portal failed');
  }
  const problem = problemOf(error, id);
  return page(problem.status, problemPage(problem, cluster.server, navigation), problem.headers);
}

function showIcon(): PortalResponse {
  return { status: 200, headers: [['Content-Type', 'image/svg+xml']], body: ICON };
}

/** Needs no session: it holds nothing of a user's, and curl has none. */
function showClient(_request: PortalRequest, { client }: PortalContext): PortalResponse {
  if (client === undefined) throw notFound();
  return { status: 200, headers: [['Content-Type', 'application/octet-stream']], body: client.file };
}
