/**
 * The bar of a signed-in user offers the pages, signing out, and the projects for which Stonegate can
 * exchange the browser's Keystone token.
 */
import type { PortalContext } from './context.ts';
import type { Navigation } from './pages/layout.ts';
import type { Session } from './portal-storage.ts';
import { ACCESS, HOME, type PortalRequest, QUOTA, SET_UP, TOKENS } from './request.ts';
import { exchangeableToken } from './session.ts';

export const SIGN_OUT_ACTION = '/logout';
export const SWITCH_ACTION = '/project';

/** @returns undefined without a session */
export function navigationOf(
  session: Session | undefined,
  request: PortalRequest,
  context: PortalContext,
): Navigation | undefined {
  const { sessionID, path } = request;
  const { formTokens, access, quota, tokens } = context;
  if (session === undefined || sessionID === undefined) return undefined;
  const { projects, identity } = session;
  const choice = {
    formToken: formTokens.issue(sessionID, SWITCH_ACTION),
    current: projects.find(({ id }) => id === identity.scope?.id)?.id,
    projects: projects.toSorted((one, other) => one.name.localeCompare(other.name, 'en')),
  };
  return {
    path,
    signOutToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
    pages: [
      [HOME, 'Account'],
      ...(access === undefined ? [] : [[ACCESS, 'What you may do'] as const]),
      ...(quota === undefined ? [] : [[QUOTA, 'Quota'] as const]),
      ...(tokens === undefined ? [] : [[TOKENS, 'Tokens'] as const]),
      [SET_UP, 'kubectl'],
    ],
    choice: exchangeableToken(request, context) === undefined ? undefined : choice,
  };
}
