/**
 * Turns a request under review into the response (allowed, allowed with warnings, or refused with the reason
 * and the fields) and the fields of its log line. A verdict is bounded, since an object can violate
 * a rule in very many places.
 */
import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionRequest, AdmissionResponse } from '../../kubernetes/admission-v1.ts';
import { foreignText } from '../../lib/untrusted-text.ts';
import type { TenantAdmission } from '../../tenancy/admission-tenants.ts';
import { cut, MAX_LOGGED, type ReviewRule, undecided, type Verdict } from '../review-rule.ts';
import type { ReviewDecision } from './review-decision.ts';
import { type IsAllowed, missingRight } from './rights-review.ts';
import { violation } from './violation.ts';

export interface AdmissionReviewerOptions {
  readonly decide: (request: AdmissionRequest) => ReviewDecision;
  readonly tenants: Pick<TenantAdmission, 'reviewPlace'>;
  readonly isAllowed: IsAllowed;
}

export function createAdmissionReviewer({
  decide,
  tenants,
  isAllowed,
}: AdmissionReviewerOptions): ReviewRule['review'] {
  return (request) => {
    const decision = decide(request);
    return {
      async complete(caller) {
        if (decision.violations.length > 0 || decision.required.length === 0)
          return verdictOf(request, decision);
        const place = tenants.reviewPlace(request);
        if (place === undefined) return verdictOf(request, { ...decision, violations: [PLACE_UNKNOWN] });
        try {
          const missing = await missingRight(decision.required, (right) =>
            isAllowed(request.user, right, place, caller),
          );
          return verdictOf(request, { ...decision, violations: missing === undefined ? [] : [missing] });
        } catch (error) {
          if (error instanceof StatusError)
            return undecided(request, `the rights of the user could not be reviewed: ${error.message}`);
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
/** API servers cut longer ones. */
const MAX_WARNING = 250;

function verdictOf(request: AdmissionRequest, decision: ReviewDecision): Verdict {
  const { tenant, violations, warnings } = decision;
  const result = violations.length > 0 ? 'denied' : warnings.length > 0 ? 'warned' : 'allowed';
  const found = [...violations, ...warnings];
  const reasons = {
    ...(tenant !== undefined && { tenant: foreignText(tenant, MAX_LOGGED) }),
    rules: [...new Set(found.map(({ rule }) => rule))],
    paths: found.slice(0, MAX_VIOLATIONS).map(({ path }) => foreignText(path, MAX_LOGGED)),
  };
  return {
    response: responseOf(request, decision),
    result,
    fields: result === 'allowed' ? {} : reasons,
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
  const message = cut(said.join('; '));
  return {
    uid,
    allowed: false,
    status: { status: 'Failure', code: 403, reason: 'Forbidden', message, details: { causes } },
  };
}
