/**
 * From the body of a posted AdmissionReview to the body of the response, with what the log says of it.
 */
import type { AdmissionRequest } from '../api/admission-v1.ts';
import { foreignText } from '../lib/untrusted-text.ts';
import { encodeAdmissionReview, readAdmissionReview } from './admission-review.ts';
import { verdictOf } from './admission-verdict.ts';
import type { ReviewDecision } from './review-decision.ts';

export interface Reviewed {
  readonly body: string;
  readonly result: 'allowed' | 'warned' | 'denied';
  readonly fields: Readonly<Record<string, unknown>>;
}

const MAX_TEXT = 256;
const MAX_PLACES = 10;

/** @returns a function that throws StatusError BodyMalformed for what is no AdmissionReview */
export function createAdmissionReviewer(
  decide: (request: AdmissionRequest) => ReviewDecision,
): (body: Uint8Array) => Reviewed {
  return (body) => {
    const { apiVersion, request } = readAdmissionReview(body);
    const decision = decide(request);
    const response = verdictOf(request, decision);
    const result = response.allowed ? (response.warnings === undefined ? 'allowed' : 'warned') : 'denied';
    return {
      body: encodeAdmissionReview({ apiVersion }, response),
      result,
      fields: { ...describe(request), ...(result !== 'allowed' && reasonsOf(decision)) },
    };
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
