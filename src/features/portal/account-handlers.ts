/**
 * Handlers of a signed-in user's requests that are no pages: the kubeconfig, switching to another project
 * and signing out.
 */
import { asSession } from '../../proxy/session-request.ts';
import { SELF_IDENTITY } from '../explain/stonegate-v1alpha1.ts';
import { accountOf } from './account.ts';
import type { PortalContext } from './context.ts';
import { clearCookie, SESSION_COOKIE, TOKEN_COOKIE } from './cookies.ts';
import { kubeconfigFileName, kubeconfigOf, kubeconfigUsers } from './kubeconfig.ts';
import { SIGN_OUT_ACTION, SWITCH_ACTION } from './navigation.ts';
import { projectRefused, sessionNotEnded, staleForm, tooManySignIns } from './problem.ts';
import { type PortalRequest, redirectTarget, SET_UP } from './request.ts';
import { download, type PortalResponse, seeOther } from './response.ts';
import { beginSession, currentSession, exchangeableToken, userOf } from './session.ts';
import { toSignIn } from './sign-in-handlers.ts';
import { readOwnForm } from './user-page.ts';

export async function showKubeconfig(
  request: PortalRequest,
  context: PortalContext,
): Promise<PortalResponse> {
  const session = await currentSession(request, context);
  if (session === undefined) return toSignIn(request, SET_UP);
  const own = { verb: 'list', resource: SELF_IDENTITY } as const;
  await asSession(request.observed, userOf(session, request, context), context, own);
  const { cluster, providers } = context;
  const provider = providers.find(({ issuer }) => issuer === session.issuer);
  const users = kubeconfigUsers(accountOf(session, context), cluster, provider);
  return download(kubeconfigFileName(cluster), kubeconfigOf(cluster, users));
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
  const next = redirectTarget(form.get('next'), context);
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
