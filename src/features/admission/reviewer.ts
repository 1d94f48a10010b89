/**
 * From the body of a posted AdmissionReview to the body of the response, with what the log says of it. Most
 * requests are decided at once; for some the user's rights are reviewed first.
 */
import type { AdmissionRequest } from '../../kubernetes/admission-v1.ts';
import { foreignText } from '../../lib/untrusted-text.ts';
import { type AdmissionReview, encodeAdmissionReview, readAdmissionReview } from './admission-review.ts';
import { isRefused, uncheckedVerdict, verdictOf } from './admission-verdict.ts';
import type { AccessReview, AdmissionTenants, ReviewCaller } from './ports.ts';
import { decideAccess } from './required-access.ts';
import type { ReviewDecision } from './review-decision.ts';

export interface Reviewed {
  readonly body: string;
  /** `error`: the user's rights could not be reviewed. */
  readonly result: 'allowed' | 'warned' | 'denied' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
}

const MAX_TEXT = 256;
const MAX_PLACES = 10;

/** A review that needs an answer of the API server. */
export interface PendingReview {
  /** @param caller if its signal is aborted, the request is refused */
  complete(caller: ReviewCaller): Promise<Reviewed>;
}

export interface AdmissionReviewerOptions {
  readonly decide: (request: AdmissionRequest) => ReviewDecision;
  readonly tenants: Pick<AdmissionTenants, 'reviewPlace'>;
  readonly access: AccessReview;
}

/** @returns a function that throws StatusError BodyMalformed for what is no AdmissionReview */
export function createAdmissionReviewer(
  options: AdmissionReviewerOptions,
): (body: Uint8Array) => Reviewed | PendingReview {
  return (body) => {
    const review = readAdmissionReview(body);
    const decision = options.decide(review.request);
    if (decision.required.length === 0 || isRefused(decision)) return reviewed(review, decision);
    return { complete: (caller) => reviewRights(review, decision, options, caller) };
  };
}

function reviewed(review: AdmissionReview, decision: ReviewDecision): Reviewed {
  const response = verdictOf(review.request, decision);
  const result = response.allowed ? (response.warnings === undefined ? 'allowed' : 'warned') : 'denied';
  return {
    body: encodeAdmissionReview(review, response),
    result,
    fields: { ...describe(review.request), ...(result !== 'allowed' && reasonsOf(decision)) },
  };
}

const PLACE_UNKNOWN = 'the rights of a service account cannot be reviewed: its name does not tell its tenant';

async function reviewRights(
  review: AdmissionReview,
  decision: ReviewDecision,
  { tenants, access }: AdmissionReviewerOptions,
  caller: ReviewCaller,
): Promise<Reviewed> {
  const { request } = review;
  const place = tenants.reviewPlace(request);
  if (place === undefined) {
    const violation = { rule: 'rights', path: '', value: undefined, message: PLACE_UNKNOWN };
    return reviewed(review, { ...decision, violations: [violation] });
  }
  const { violations, unknown } = await decideAccess(decision.required, request.user, place, access, caller);
  if (unknown === undefined) return reviewed(review, { ...decision, violations });
  return {
    body: encodeAdmissionReview(review, uncheckedVerdict(request, unknown)),
    result: 'error',
    fields: { ...describe(request), reason: foreignText(unknown, MAX_TEXT) },
  };
}

/** Nothing of the objects but a name: they may hold secrets. */
function describe(request: AdmissionRequest): Readonly<Record<string, unknown>> {
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

function reasonsOf({ tenant, violations, security }: ReviewDecision): Readonly<Record<string, unknown>> {
  const all = [...violations, ...(security?.violations ?? [])];
  return {
    ...(tenant !== undefined && { tenant: foreignText(tenant, MAX_TEXT) }),
    rules: [...new Set(all.map(({ rule }) => rule))],
    paths: all.slice(0, MAX_PLACES).map(({ path }) => foreignText(path, MAX_TEXT)),
  };
}
