/**
 * The handlers for a signed-in user: the account page, the kubeconfig and signing out.
 */
import { accountOf } from './account.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, SESSION_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { kubeconfigOf, kubeconfigUsers } from './kubeconfig.ts';
import { accessPage } from './pages/access-page.ts';
import { accountPage } from './pages/account-page.ts';
import { notFound, sessionNotEnded, staleForm } from './problem.ts';
import { ACCESS, HOME, type PortalRequest, readForm, SET_UP } from './request.ts';
import { type PortalResponse, page, seeOther } from './response.ts';
import { currentSession } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';

const SIGN_OUT_ACTION = '/logout';

export async function showAccount(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { sessionID } = request;
  const session = await currentSession(request, context);
  if (session === undefined || sessionID === undefined) return toSignIn(request, HOME);
  const account = accountOf(session, context);
  const { cluster, providers, keystone, clock, formTokens, origin, client, commandURL } = context;
  const { issuer } = account;
  const content = accountPage({
    server: cluster.server,
    account,
    signedInWith:
      issuer === undefined
        ? (keystone?.displayName ?? 'Keystone')
        : (providers.find((provider) => provider.issuer === issuer)?.displayName ?? issuer),
    now: clock.now(),
    fileName: fileName(context),
    command: { portal: origin, sha256: client?.sha256, executablesURL: commandURL },
    formToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
    showsAccess: context.access !== undefined,
  });
  return page(200, content);
}

export async function showAccess(request: PortalRequest, context: PortalContext): Promise<PortalResponse> {
  const { access, cluster, formTokens } = context;
  if (access === undefined) throw notFound();
  const { sessionID } = request;
  const session = await currentSession(request, context);
  if (session === undefined || sessionID === undefined) return toSignIn(request, ACCESS);
  const content = accessPage({
    server: cluster.server,
    account: accountOf(session, context),
    access: await access.accessOf(session.identity),
    formToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
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
  const { exchange, sessionID } = request;
  const { sessions, formTokens, origin, clock } = context;
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  const session = await currentSession(request, context);
  const cleared = clearCookie(SESSION_COOKIE);
  if (session === undefined || sessionID === undefined)
    return seeOther('/login?notice=signed-out', [cleared]);
  if (!formTokens.verify(form.get('token'), sessionID, SIGN_OUT_ACTION)) throw staleForm();
  if (!(await sessions.remove(sessionID))) throw sessionNotEnded().with(cleared);
  return seeOther('/login?notice=signed-out', [cleared]);
}

function fileName({ cluster }: PortalContext): string {
  return `${cluster.name}.kubeconfig`;
}
