/**
 * The portal: a few pages under an origin of its own, from which people get a working kubectl. A closed list of paths;
 * whatever is thrown becomes a page. It is reached under its own host name only: under the API's, a browser would send
 * its cookies to pages that tenants serve.
 */
import { StatusError } from '../errors/status-error.ts';
import { headerValues } from '../lib/header-list.ts';
import type { Exchange } from '../pipeline/ports.ts';
import { showAccount, showKubeconfig, signOut } from './account-handlers.ts';
import { type Answer, page, send } from './answer.ts';
import { callbackOf } from './callback.ts';
import type { PortalContext, PortalOptions } from './context.ts';
import { createFormTokens } from './csrf.ts';
import { ICON } from './icon.ts';
import { finishOIDC, startOIDC } from './oidc-handlers.ts';
import { problemPage } from './pages/problem-page.ts';
import type { Provider } from './ports.ts';
import { methodNotAllowed, misdirected, notFound, PortalProblem, problemOf } from './problem.ts';
import { type PortalRequest, readRequest } from './request.ts';
import { showSignIn, signInWithPassword } from './sign-in-handlers.ts';

type Handler = (request: PortalRequest, context: PortalContext) => Answer | Promise<Answer>;

type Route = Readonly<Partial<Record<'GET' | 'POST', Handler>>>;
type Routes = ReadonlyMap<string, Route>;

const ROUTES: Routes = new Map([
  ['/', { GET: showAccount }],
  ['/kubeconfig', { GET: showKubeconfig }],
  ['/login', { GET: showSignIn }],
  ['/login/keystone', { POST: signInWithPassword }],
  ['/login/oidc', { GET: startOIDC }],
  ['/logout', { POST: signOut }],
  ['/icon.svg', { GET: showIcon }],
]);

/** @returns what serves one request to its end, and never throws */
export function createPortal(options: PortalOptions): (exchange: Exchange) => Promise<void> {
  const { sealer, clock, publicURL, providers } = options;
  const routes: Routes = new Map([...ROUTES, ...callbacks(providers)]);
  const context: PortalContext = {
    ...options,
    origin: new URL(publicURL).origin,
    formTokens: createFormTokens({ sealer, clock }),
  };
  return async (exchange) => {
    send(exchange, await answer(exchange, context, routes));
  };
}

function callbacks(providers: readonly Provider[]): [string, Route][] {
  return providers.map((provider) => [
    callbackOf(provider),
    { GET: (request, context) => finishOIDC(provider, request, context) },
  ]);
}

async function answer(exchange: Exchange, context: PortalContext, routes: Routes): Promise<Answer> {
  try {
    requireOwnHost(exchange, context);
    const request = readRequest(exchange, context.trustedProxies);
    return await handlerOf(request, routes)(request, context);
  } catch (error) {
    return refuse(error, context);
  }
}

function requireOwnHost({ headers }: Exchange, { origin }: PortalContext): void {
  const hosts = headerValues(headers, 'host').map((host) => host.toLowerCase());
  if (hosts.length !== 1 || hosts[0] !== new URL(origin).host) throw misdirected(origin);
}

function handlerOf({ path, method }: PortalRequest, routes: Routes): Handler {
  const route = routes.get(path);
  if (route === undefined) throw notFound();
  const handler =
    method === 'POST' ? route.POST : method === 'GET' || method === 'HEAD' ? route.GET : undefined;
  if (handler === undefined) throw methodNotAllowed(Object.keys(route));
  return handler;
}

function refuse(error: unknown, { random, logger, cluster }: PortalContext): Answer {
  const id = random.uuid();
  if (error instanceof StatusError) {
    logger.info({ id, code: error.code, cause: error.cause }, `portal: ${error.message}`);
  } else if (!(error instanceof PortalProblem)) {
    logger.error({ id, error }, 'serving a page of the portal failed');
  }
  const problem = problemOf(error, id);
  return page(problem.status, problemPage(problem, cluster.server), problem.headers);
}

function showIcon(): Answer {
  return { status: 200, headers: [['Content-Type', 'image/svg+xml']], body: ICON };
}
