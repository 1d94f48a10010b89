/**
 * The bar of a signed-in user offers the pages, signing out, and the projects for which Stonegate can
 * exchange the browser's Keystone token.
 */
import { MAX_ROWS } from '../page-parts.ts';
import type { PortalContext } from './context.ts';
import type { Navigation } from './pages/layout.ts';
import type { Session } from './portal-storage.ts';
import { type PortalRequest, redirectTarget } from './request.ts';
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
  const { formTokens, pages } = context;
  if (session === undefined || sessionID === undefined) return undefined;
  const { projects, identity } = session;
  const current = projects.find(({ id }) => id === identity.scope?.id)?.id;
  const sorted = projects.toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
  const choice = {
    formToken: formTokens.issue(sessionID, SWITCH_ACTION),
    next: redirectTarget(path, context),
    current,
    // To any other the user signs in by its name.
    projects: sorted.filter(({ id }, at) => at < MAX_ROWS || id === current),
  };
  return {
    path,
    signOutToken: formTokens.issue(sessionID, SIGN_OUT_ACTION),
    pages: pages
      .flatMap(({ path, navigation }) => (navigation === undefined ? [] : [{ path, ...navigation }]))
      .sort((one, other) => one.order - other.order),
    choice: exchangeableToken(request, context) === undefined ? undefined : choice,
  };
}
