/**
 * The portal's error pages: what happened and what the user can do. A refusal of the API is quoted; of an
 * unexpected error the page shows only the ID of its log entry.
 */
import { CODES } from '../../errors/codes.ts';
import { StatusError } from '../../errors/status-error.ts';
import { toStatus } from '../../errors/to-status.ts';
import { type Html, html } from '../../lib/html.ts';
import { type Refusal, refusalOf } from '../../proxy/delivery.ts';
import { PortalProblem, type Problem } from '../../proxy/portal-page.ts';
import { button, hidden } from '../page-parts.ts';
import { layout, type Navigation } from './pages/layout.ts';
import type { PortalRequest } from './request.ts';

const SIGN_IN_AGAIN = { label: 'Sign in again', target: '/login' } as const;
const TRY_AGAIN = 'Try again';
const START = { label: 'Go to the start page', target: '/' } as const;

function problem(
  status: number,
  title: string,
  text: string,
  more: Partial<Pick<Problem, 'action' | 'quote' | 'headers'>> = {},
): PortalProblem {
  return new PortalProblem({ action: SIGN_IN_AGAIN, ...more, status, title, text });
}

export const notFound = () =>
  problem(404, 'There is no such page', 'The address is wrong, or the page has moved.', { action: START });

/** @param allowed for the `Allow` field */
export const methodNotAllowed = (allowed: readonly string[]) =>
  problem(405, 'This cannot be done here', 'The page does not know this kind of request.', {
    action: START,
    headers: [['Allow', allowed.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ')]],
  });

/** @param origin the portal's own */
export const misdirected = (origin: string) =>
  problem(421, 'This page has another address', 'It is only shown under its own.', {
    action: { label: `Go to ${origin}`, target: `${origin}/` },
  });

/** The form is too old, or from another browser or another site. */
export const staleForm = () =>
  problem(
    403,
    'This form has expired',
    'Nothing has changed. A form is valid for an hour, in the browser in which it was opened, with cookies allowed.',
    { action: { label: 'Start again', target: '/' } },
  );

/** An authorization response without a pending authorization request in this browser. */
export const unknownSignIn = () =>
  problem(
    400,
    'Sign-in failed',
    'This sign-in was started in another browser or too long ago, or it is finished already. Cookies must be allowed.',
  );

/** An authorization response at another redirect URI than the request named. */
export const misdirectedResponse = () =>
  problem(
    400,
    'This response belongs to another sign-in',
    'Sign-in failed: the response came back to another address than the sign-in started with. If it happens again, tell the operators.',
  );

/** @param quote the issuer's error text */
export const refusedByProvider = (provider: string, quote: string) =>
  problem(403, 'Sign-in failed', `${provider} did not sign you in. It says:`, { quote });

export const tooManySignIns = () =>
  problem(
    429,
    'Too many sign-ins',
    'There were too many sign-ins of this user, or from your address. Wait a minute, then try again.',
    {
      headers: [['Retry-After', '60']],
    },
  );

/**
 * Answers a form that exceeds a rate of the user or the tenant. The page then asks no backend.
 *
 * @param fields are sent again
 */
export function tooManyForms(
  error: StatusError,
  request: PortalRequest,
  target: string,
  fields: URLSearchParams,
): PortalProblem {
  return new PortalProblem(
    { ...problemOf(error, request), action: { label: TRY_AGAIN, target, fields } },
    error,
  );
}

/** Keystone does not exchange the token, or the browser stores none that can be exchanged. */
export const projectRefused = (project: string) =>
  problem(
    403,
    `You cannot switch to ${project}`,
    'Keystone does not exchange your sign-in for this project: it has ended, or you have no role there any more. You are still signed in as before.',
  );

export const sessionNotStored = () =>
  problem(503, 'Sign-in failed', 'Sessions cannot be stored at the moment. Try again in a minute.');

export const sessionNotEnded = () =>
  problem(
    503,
    'You are signed out in this browser only',
    'The session could not be ended on the server. It ends by itself, at the time that your page showed.',
  );

export function problemOf(error: unknown, { observed, method, exchange }: PortalRequest): Problem {
  if (error instanceof PortalProblem) return error.problem;
  const { auditID } = observed;
  if (!(error instanceof StatusError)) {
    return {
      status: 500,
      title: 'Something went wrong here',
      text: `It is not your fault. The operators find more in the log under ${auditID}.`,
      action: START,
    };
  }
  const { http } = CODES[error.code];
  // A 401 requires a `WWW-Authenticate` challenge (RFC 9110 §15.5.2); a form has none.
  const status = http === 401 ? 403 : http;
  const isPage = http === 429 && method !== 'POST';
  const action = isPage ? { label: TRY_AGAIN, target: exchange.target } : SIGN_IN_AGAIN;
  // After what time there is room again.
  const headers = http === 429 ? toStatus(error, auditID).headers : [];
  return { status, ...textFor(http), quote: error.message, action, headers };
}

/** What the observers learn of the error. */
export function refusalBy(error: unknown, id: string): Refusal {
  if (!(error instanceof PortalProblem)) return refusalOf(error, toStatus(error, id));
  return error.refusal === undefined ? { message: error.message } : refusalBy(error.refusal, id);
}

function textFor(status: number): Pick<Problem, 'title' | 'text'> {
  switch (status) {
    case 401:
      return {
        title: 'Sign-in failed',
        text: 'You have signed in, but the Kubernetes API does not accept the result. It says:',
      };
    case 403:
      return {
        title: 'You have no access here',
        text: 'You have signed in, but the Kubernetes API would refuse you. It says:',
      };
    case 429:
      return { title: 'Too many requests', text: 'Nothing has changed. Wait a moment, then try again:' };
    case 503:
      return {
        title: 'This is not available now',
        text: 'A part that is needed does not answer. Try again in a minute. It says:',
      };
    default:
      return { title: 'There is a problem', text: 'The request could not be understood:' };
  }
}

/** @param navigation of a user who is signed in */
export function problemPage(
  { title, text, quote, action }: Problem,
  server: string,
  navigation: Navigation | undefined,
): Html {
  return layout({
    title,
    narrow: true,
    server,
    navigation,
    main: html`<div class="card">
<h1>${title}</h1>
<p>${text}</p>
${quote !== undefined && html`<blockquote>${quote}</blockquote>`}
${continued(action)}
</div>`,
  });
}

function continued({ label, target, fields }: Problem['action']): Html {
  return fields === undefined
    ? html`<p><a class="button stretch" href="${target}">${label}</a></p>`
    : html`<form method="post" action="${target}">${Array.from(fields, ([name, value]) => hidden(name, value))}${button(label, undefined, 'stretch')}</form>`;
}
