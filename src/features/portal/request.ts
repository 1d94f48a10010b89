/**
 * A request to the portal. Its target is read once, as text, and only compared with known paths; forms
 * (application/x-www-form-urlencoded) are bounded in size and time.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { headerValue } from '../../lib/header-list.ts';
import type { PortalPage } from '../../proxy/portal-page.ts';
import { readBody } from '../../proxy/request/read-body.ts';
import { SessionRequest, type SessionStages } from '../../proxy/session-request.ts';
import { cookieOf, isID, SESSION_COOKIE, VISIT_COOKIE } from './cookies.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';
const SECOND_SEGMENT = /^(\/*[^/]+\/).*$/s;
const FORM_BYTES = 16_384;
const FORM_TIMEOUT = 10_000;

export interface PortalRequest {
  readonly exchange: Exchange;
  /** What the observers see of it. */
  readonly observed: SessionRequest;
  readonly method: string;
  readonly path: string;
  /** The path, or its first segment if there is no such path: what follows may be the secret of a link. */
  readonly route: string;
  readonly query: URLSearchParams;
  /** The client's address. */
  readonly source: string;
  /** The session's id from the cookie; the session may not exist. */
  readonly sessionID: string | undefined;
  readonly visitID: string | undefined;
}

export const HOME = '/';
/** The section on setting up kubectl, which other documents link to. */
export const SET_UP = '/#kubectl';

/**
 * The browser's target after sign-in. The requested value is compared whole and never parsed, so that no
 * spelling leads to another site (CWE-601).
 *
 * @param next decoded value of a link or a form
 * @param pages those that there are
 * @param otherwise the target if the value is no page
 */
export function redirectTarget(
  next: string | null | undefined,
  { pages }: { readonly pages: readonly Pick<PortalPage, 'path' | 'targets'>[] },
  otherwise = HOME,
): string {
  if (!next) return otherwise;
  const isPage = next === SET_UP || pages.some(({ path, targets }) => path === next || targets?.test(next));
  return isPage ? next : otherwise;
}

/** @param isKnown whether there is such a path */
export function readRequest(
  exchange: Exchange,
  stages: SessionStages,
  isKnown: (path: string) => boolean,
): PortalRequest {
  const { target, headers, method } = exchange;
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  const route = isKnown(path) ? path : path.replace(SECOND_SEGMENT, '$1');
  const observed = new SessionRequest(exchange, route, stages);
  const sessionID = cookieOf(headers, SESSION_COOKIE);
  const visitID = cookieOf(headers, VISIT_COOKIE);
  return {
    ...{ exchange, observed, method, path, route },
    query: new URLSearchParams(end === -1 ? '' : target.slice(end + 1)),
    source: observed.sourceIPs[0],
    sessionID: isID(sessionID) ? sessionID : undefined,
    visitID: isID(visitID) ? visitID : undefined,
  };
}

/** @throws StatusError MediaTypeUnsupported, BodyTooLarge, BodyTimeout */
export async function readForm({ exchange }: PortalRequest, clock: Clock): Promise<URLSearchParams> {
  const [type = ''] = (headerValue(exchange.headers, 'content-type') ?? '').split(';', 1);
  if (type.trim().toLowerCase() !== FORM_TYPE) {
    throw new StatusError('MediaTypeUnsupported', 'this is no form');
  }
  const limits = { bodyBytes: FORM_BYTES, bodyTimeout: FORM_TIMEOUT, what: 'a form' };
  return new URLSearchParams((await readBody(exchange, limits, clock)).toString('utf8'));
}
