/**
 * The handlers for a signed-in user: the pages, the kubeconfig, switching to another project and signing out.
 */
import { accountOf } from './account.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, SESSION_COOKIE, TOKEN_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { kubeconfigOf, kubeconfigUsers } from './kubeconfig.ts';
import { navigationOf, SIGN_OUT_ACTION, SWITCH_ACTION } from './navigation.ts';
import { accessPage } from './pages/access-page.ts';
import { accountPage } from './pages/account-page.ts';
import { quotaPage } from './pages/quota-page.ts';
import { notFound, projectRefused, sessionNotEnded, staleForm, tooManySignIns } from './problem.ts';
import { ACCESS, HOME, type PortalRequest, QUOTA, readForm, redirectTarget, SET_UP } from './request.ts';
import { type PortalResponse, page, seeOther } from './response.ts';
import { beginSession, currentSession, exchangeableToken } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';

export async function showAccount(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, HOME);
  const account = accountOf(session, context);
  const { cluster, providers, keystone, clock, origin, client, commandURL } = context;
  const { issuer } = account;
  const provider = providers.find((each) => each.issuer === issuer);
  const content = accountPage({
    server: cluster.server,
    navigation: navigationOf(session, request, context),
    account,
    signedInWith:
      issuer === undefined ? (keystone?.displayName ?? 'Keystone') : (provider?.displayName ?? issuer),
    now: clock.now(),
    fileName: fileName(context),
    kubeContext: kubeconfigUsers(account, cluster, provider)[0]?.name ?? '',
    command: { portal: origin, sha256: client?.sha256, executablesURL: commandURL },
  });
  return page(200, content);
}

export async function showAccess(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { access, cluster } = context;
  if (access === undefined) throw notFound();
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, ACCESS);
  const content = accessPage({
    server: cluster.server,
    navigation: navigationOf(session, request, context),
    account: accountOf(session, context),
    access: await access.accessOf(session.identity),
  });
  return page(200, content);
}

export async function showQuota(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { quota, cluster } = context;
  if (quota === undefined) throw notFound();
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, QUOTA);
  const content = quotaPage({
    server: cluster.server,
    navigation: navigationOf(session, request, context),
    tenant: accountOf(session, context).tenant,
    quota: await quota.quotaOf(session.identity),
  });
  return page(200, content);
}

export async function showKubeconfig(
  request: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, SET_UP);
  const { cluster, providers } = context;
  const provider = providers.find(({ issuer }) => issuer === session.issuer);
  const users = kubeconfigUsers(accountOf(session, context), cluster, provider);
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/yaml'],
      ['Content-Disposition', `attachment; filename="${fileName(context)}"`],
    ],
    body: kubeconfigOf(cluster, users),
  };
}

export async function signOut(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { sessionID } = request;
  const { session } = await readOwnForm(request, context, SIGN_OUT_ACTION);
  const cleared = [clearCookie(SESSION_COOKIE), clearCookie(TOKEN_COOKIE)];
  if (session !== undefined && sessionID !== undefined && !(await context.sessions.remove(sessionID)))
    throw cleared.reduce((problem, header) => problem.with(header), sessionNotEnded());
  return seeOther('/login?notice=signed-out', cleared);
}

/** Exchanges the Keystone token that the browser stores, and begins a session with what it proves. */
export async function switchProject(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { keystone, limit, logger } = context;
  const { source } = request;
  const { form, session } = await readOwnForm(request, context, SWITCH_ACTION);
  const next = redirectTarget(form.get('next'));
  if (session === undefined) return toSignIn(request, next);
  const { projects, expiresAt: endsAt } = session;
  const project = projects.find(({ id }) => id === form.get('project'));
  if (project === undefined) throw staleForm();
  if (limit.admit(source, undefined) !== undefined) throw tooManySignIns();
  const exchangeable = exchangeableToken(request, context);
  const token = exchangeable && (await keystone?.login.rescope(exchangeable, project.id));
  if (exchangeable === undefined || token === undefined) {
    logger.info(
      { source, project: project.name },
      'portal: the token could not be exchanged for another project',
    );
    throw projectRefused(project.name);
  }
  const credential = { kind: 'x-auth-token', token } as const;
  return beginSession({ credential, projects, exchangeable, endsAt, next }, request, context);
}

/**
 * @returns without the session if it has ended
 * @throws PortalProblem if the form is not of this portal and this session
 */
async function readOwnForm(request: PortalRequest, context: PortalContext, action: string) {
  const { exchange, sessionID } = request;
  const { formTokens, origin, clock } = context;
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  const session = await currentSession(request, context);
  if (session !== undefined && !formTokens.verify(form.get('token'), sessionID, action)) throw staleForm();
  return { form, session };
}

function fileName({ cluster }: PortalContext): string {
  return `${cluster.name}.kubeconfig`;
}
