/**
 * A request to the portal. Its target is read once, as text, and only compared with known paths; forms
 * (application/x-www-form-urlencoded) are bounded in size and time.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/exchange.ts';
import { headerValue } from '../../lib/header-list.ts';
import { readBody } from '../../proxy/request/read-body.ts';
import { SessionRequest, type SessionStages } from '../../proxy/session-request.ts';
import { cookieOf, isID, SESSION_COOKIE, VISIT_COOKIE } from './cookies.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';
const FORM_BYTES = 16_384;
const FORM_TIMEOUT = 10_000;

export interface PortalRequest {
  readonly exchange: Exchange;
  /** What the observers see of it. */
  readonly observed: SessionRequest;
  readonly method: string;
  readonly path: string;
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

export const ACCESS = '/access';
export const QUOTA = '/quota';
export const TOKENS = '/tokens';
export const MEMBERS = '/members';
export const TEAMS = '/teams';
export const INVITATION = '/invitation';
/** The beginning of the path of an invitation's link; the secret follows. */
export const INVITATION_LINK = `${INVITATION}/`;

const REDIRECT_TARGETS: readonly string[] = [
  ...[HOME, SET_UP, ACCESS, QUOTA, TOKENS, MEMBERS, TEAMS, INVITATION],
];
const MEMBERS_OF_NAMESPACE = /^\/members\?namespace=[a-z0-9-]{1,63}$/;

/**
 * The browser's target after sign-in. The requested value is compared whole and never parsed, so that no
 * spelling leads to another site (CWE-601).
 *
 * @param next decoded value of a link or a form
 * @param otherwise the target if the value is no page
 */
export function redirectTarget(next: string | null | undefined, otherwise = HOME): string {
  if (next && MEMBERS_OF_NAMESPACE.test(next)) return next;
  return REDIRECT_TARGETS.find((target) => target === next) ?? otherwise;
}

export function readRequest(exchange: Exchange, stages: SessionStages): PortalRequest {
  const { target, headers, method } = exchange;
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  const shownPath = path.startsWith(INVITATION_LINK) ? INVITATION_LINK : path;
  const observed = new SessionRequest(exchange, shownPath, stages);
  const sessionID = cookieOf(headers, SESSION_COOKIE);
  const visitID = cookieOf(headers, VISIT_COOKIE);
  return {
    ...{ exchange, observed, method, path },
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
