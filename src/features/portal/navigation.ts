/**
 * The bar of a signed-in user offers the pages, signing out, and the projects for which Stonegate can
 * exchange the browser's Keystone token.
 */
import type { PortalContext } from './context.ts';
import type { Navigation } from './pages/layout.ts';
import { MAX_ROWS } from './pages/page-parts.ts';
import type { Session } from './portal-storage.ts';
import { ACCESS, HOME, MEMBERS, type PortalRequest, QUOTA, TEAMS, TOKENS } from './request.ts';
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
  const { formTokens, access, quota, tokens, members, teams } = context;
  if (session === undefined || sessionID === undefined) return undefined;
  const { projects, identity } = session;
  const current = projects.find(({ id }) => id === identity.scope?.id)?.id;
  const sorted = projects.toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
  const choice = {
    formToken: formTokens.issue(sessionID, SWITCH_ACTION),
    current,
    // To any other the user signs in by its name.
    projects: sorted.filter(({ id }, at) => at < MAX_ROWS || id === current),
  };
  return {
    path,
    signOutToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
    pages: [
      link(HOME, 'Account'),
      access && link(ACCESS, 'Access'),
      members && link(MEMBERS, 'Members'),
      teams && link(TEAMS, 'Teams'),
      tokens && link(TOKENS, 'Tokens'),
      quota && link(QUOTA, 'Quota'),
    ].filter((page) => page !== undefined),
    choice: exchangeableToken(request, context) === undefined ? undefined : choice,
  };
}

function link(path: string, label: string): Navigation['pages'][number] {
  return [path, label];
}
