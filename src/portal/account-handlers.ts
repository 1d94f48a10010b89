/**
 * What those who have signed in may do: see who they are, download their kubeconfig, and sign out.
 */
import { type Account, accountOf } from './account.ts';
import { type Answer, page, seeOther } from './answer.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, SESSION_COOKIE } from './cookies.ts';
import { isFromOwnPage } from './csrf.ts';
import { currentSession } from './current-session.ts';
import { type Access, accessOf, kubeconfigOf, kubectlCommands } from './kubeconfig.ts';
import { accountPage } from './pages/account-page.ts';
import type { Provider } from './ports.ts';
import { sessionNotEnded, staleForm } from './problem.ts';
import { HOME, SET_UP } from './redirect-target.ts';
import { type PortalRequest, readForm } from './request.ts';
import { toSignIn } from './sign-in-handlers.ts';

const SIGN_OUT_ACTION = '/logout';

export async function showAccount(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const { sessionID } = request;
  const session = await currentSession(request, context);
  if (session === undefined || sessionID === undefined) return toSignIn(request, HOME);
  const account = accountOf(session, context.identities);
  const { cluster, keystone, clock, formTokens } = context;
  const { provider, access } = accessTo(account, context);
  const content = accountPage({
    server: cluster.server,
    account,
    way:
      account.issuer === undefined
        ? (keystone?.displayName ?? 'Keystone')
        : (provider?.displayName ?? account.issuer),
    now: clock.now(),
    fileName: fileName(context),
    commands: kubectlCommands(cluster, access),
    formToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
  });
  return page(200, content);
}

export async function showKubeconfig(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, SET_UP);
  const { access } = accessTo(accountOf(session, context.identities), context);
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/yaml'],
      ['Content-Disposition', `attachment; filename="${fileName(context)}"`],
    ],
    body: kubeconfigOf(context.cluster, access),
  };
}

export async function signOut(request: PortalRequest, context: PortalContext): Promise<Answer> {
  const { exchange, sessionID } = request;
  const { sessions, formTokens, origin, clock } = context;
  if (!isFromOwnPage(exchange.headers, origin)) throw staleForm();
  const form = await readForm(request, clock);
  const session = await currentSession(request, context);
  const forgotten = clearCookie(SESSION_COOKIE);
  if (session === undefined || sessionID === undefined)
    return seeOther('/login?notice=signed-out', [forgotten]);
  if (!formTokens.verify(form.get('token'), sessionID, SIGN_OUT_ACTION)) throw staleForm();
  if (!(await sessions.remove(sessionID))) throw sessionNotEnded().with(forgotten);
  return seeOther('/login?notice=signed-out', [forgotten]);
}

function accessTo(
  account: Account,
  { cluster, providers }: PortalContext,
): { readonly provider: Provider | undefined; readonly access: readonly Access[] } {
  const provider = providers.find(({ issuer }) => issuer === account.issuer);
  return { provider, access: accessOf(account, cluster, provider) };
}

function fileName({ cluster }: PortalContext): string {
  return `${cluster.name}.kubeconfig`;
}
