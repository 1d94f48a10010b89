/**
 * The handlers for a signed-in user: the pages, the kubeconfig, switching to another project and signing out.
 */
import { accountOf } from './account.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, SESSION_COOKIE, TOKEN_COOKIE } from './cookies.ts';
import { kubeconfigOf, kubeconfigUsers } from './kubeconfig.ts';
import { SIGN_OUT_ACTION, SWITCH_ACTION } from './navigation.ts';
import { accessPage } from './pages/access-page.ts';
import { accountPage } from './pages/account-page.ts';
import { quotaPage } from './pages/quota-page.ts';
import { projectRefused, sessionNotEnded, staleForm, tooManySignIns } from './problem.ts';
import { ACCESS, HOME, type PortalRequest, QUOTA, redirectTarget, SET_UP } from './request.ts';
import { type PortalResponse, seeOther } from './response.ts';
import { beginSession, currentSession, exchangeableToken } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';
import { readOwnForm, userPage } from './user-page.ts';

export const ACCOUNT_PAGE = userPage({
  path: HOME,
  sourceOf: (context) => context,
  show({ session, context, frame }) {
    const account = accountOf(session, context);
    const { cluster, providers, keystone, clock, origin, client, commandURL } = context;
    const { issuer } = account;
    const provider = providers.find((each) => each.issuer === issuer);
    return accountPage({
      frame,
      account,
      signedInWith:
        issuer === undefined ? (keystone?.displayName ?? 'Keystone') : (provider?.displayName ?? issuer),
      now: clock.now(),
      fileName: fileName(context),
      kubeContext: kubeconfigUsers(account, cluster, provider)[0]?.name ?? '',
      command: { portal: origin, sha256: client?.sha256, executablesURL: commandURL },
    });
  },
});

export const ACCESS_PAGE = userPage({
  path: ACCESS,
  sourceOf: ({ access }) => access,
  show: async ({ source, identity, session, context, frame }) =>
    accessPage({ frame, account: accountOf(session, context), access: await source.accessOf(identity) }),
});

export const QUOTA_PAGE = userPage({
  path: QUOTA,
  sourceOf: ({ quota }) => quota,
  show: async ({ source, identity, context, frame }) => {
    const { tenant } = context.identities.describe(identity);
    return quotaPage({ frame, tenant, quota: await source.quotaOf(identity) });
  },
});

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

function fileName({ cluster }: PortalContext): string {
  return `${cluster.name}.kubeconfig`;
}
