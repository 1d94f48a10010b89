/**
 * Turns a posted AdmissionReview into the response (allowed, allowed with warnings, or refused with the
 * reason and the fields) and the fields of its log line. A verdict is bounded, since an object can violate
 * a rule in very many places.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../kubernetes/admission-v1.ts';
import { foreignText } from '../../lib/untrusted-text.ts';
import type { TenantAdmission } from '../../tenancy/admission-tenants.ts';
import { type AdmissionReview, encodeAdmissionReview, readAdmissionReview } from './admission-review.ts';
import type { ReviewDecision } from './review-decision.ts';
import { type IsAllowed, missingRight, type ReviewCaller } from './rights-review.ts';
import { violation } from './violation.ts';

export interface Reviewed {
  /** The response, as JSON. */
  readonly body: string;
  /** `error`: the user's rights could not be reviewed, and the request is refused. */
  readonly result: 'allowed' | 'warned' | 'denied' | 'error';
  /** Fields of the log line: only the name of an object, since objects may hold secrets. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A review that is decided but for the rights of its user. */
export interface Judged {
  /** @param caller if its signal is aborted, a request whose rights are reviewed is refused */
  complete(caller: ReviewCaller): Promise<Reviewed>;
}

export interface AdmissionReviewerOptions {
  readonly decide: (request: AdmissionRequest) => ReviewDecision;
  readonly tenants: Pick<TenantAdmission, 'reviewPlace'>;
  readonly isAllowed: IsAllowed;
}

/** @returns a function that throws StatusError BodyMalformed for what is no AdmissionReview */
export function createAdmissionReviewer({
  decide,
  tenants,
  isAllowed,
}: AdmissionReviewerOptions): (body: Uint8Array) => Judged {
  return (body) => {
    const review = readAdmissionReview(body);
    const { request } = review;
    const decision = decide(request);
    return {
      async complete(caller) {
        if (decision.violations.length > 0 || decision.required.length === 0)
          return reviewed(review, decision);
        const place = tenants.reviewPlace(request);
        if (place === undefined) return reviewed(review, { ...decision, violations: [PLACE_UNKNOWN] });
        try {
          const missing = await missingRight(decision.required, (right) =>
            isAllowed(request.user, right, place, caller),
          );
          return reviewed(review, { ...decision, violations: missing === undefined ? [] : [missing] });
        } catch (error) {
          if (error instanceof StatusError)
            return unreviewed(review, `the rights of the user could not be reviewed: ${error.message}`);
          throw error;
        }
      },
    };
  };
}

const PLACE_UNKNOWN = violation(
  'rights',
  '',
  undefined,
  'the rights of a service account cannot be reviewed: its name does not tell its tenant',
);
/** Violations in a response and in a log line. */
const MAX_VIOLATIONS = 10;
const MAX_MESSAGE = 2_000;
/** Characters of a text in the log. */
const MAX_TEXT = 256;
/** API servers cut longer ones. */
const MAX_WARNING = 250;

function reviewed(review: AdmissionReview, decision: ReviewDecision): Reviewed {
  const { tenant, violations, warnings } = decision;
  const result = violations.length > 0 ? 'denied' : warnings.length > 0 ? 'warned' : 'allowed';
  const found = [...violations, ...warnings];
  const reasons = {
    ...(tenant !== undefined && { tenant: foreignText(tenant, MAX_TEXT) }),
    rules: [...new Set(found.map(({ rule }) => rule))],
    paths: found.slice(0, MAX_VIOLATIONS).map(({ path }) => foreignText(path, MAX_TEXT)),
  };
  return {
    body: encodeAdmissionReview(review, responseOf(review.request, decision)),
    result,
    fields: { ...describe(review.request), ...(result !== 'allowed' && reasons) },
  };
}

function responseOf({ uid }: AdmissionRequest, { violations, warnings }: ReviewDecision): AdmissionResponse {
  const shownWarnings = warnings.slice(0, MAX_VIOLATIONS).map(({ message }) => cut(message, MAX_WARNING));
  if (violations.length === 0)
    return { uid, allowed: true, ...(shownWarnings.length > 0 && { warnings: shownWarnings }) };
  const first = violations.slice(0, MAX_VIOLATIONS);
  const more = violations.length - first.length;
  const said = [...first.map(({ message }) => message), ...(more > 0 ? [`and ${more} more`] : [])];
  const causes = first.map(({ path, message }) => ({
    reason: 'FieldValueForbidden',
    message: cut(message, MAX_WARNING),
    field: cut(path, MAX_WARNING),
  }));
  const message = cut(said.join('; '), MAX_MESSAGE);
  return {
    uid,
    allowed: false,
    status: { status: 'Failure', code: 403, reason: 'Forbidden', message, details: { causes } },
  };
}

/** @param why it could not be decided */
export function unreviewed(review: AdmissionReview, why: string): Reviewed {
  const { request } = review;
  const message = cut(why, MAX_MESSAGE);
  const status = { status: 'Failure', code: 503, reason: 'ServiceUnavailable', message } as const;
  return {
    body: encodeAdmissionReview(review, { uid: request.uid, allowed: false, status }),
    result: 'error',
    fields: { ...describe(request), reason: foreignText(why, MAX_TEXT) },
  };
}

export function describe(request: AdmissionRequest): Readonly<Record<string, unknown>> {
  const { uid, operation, group, resource, subresource, namespace, name, user } = request;
  return {
    uid,
    operation,
    resource: [group, resource, subresource].filter((part) => part !== '').join('/'),
    namespace: foreignText(namespace, MAX_TEXT),
    name: foreignText(name, MAX_TEXT),
    user: foreignText(user.username, MAX_TEXT),
  };
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;
}
