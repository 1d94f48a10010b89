/**
 * The response to an AdmissionReview: allowed, allowed with warnings, or refused with the reason and the
 * fields. Bounded, since an object can violate a rule in very many places.
 */
import type { AdmissionRequest, AdmissionResponse } from '../../kubernetes/admission-v1.ts';
import type { ReviewDecision } from './review-decision.ts';
import type { Violation } from './violation.ts';

const MAX_CAUSES = 10;
const MAX_MESSAGE = 2_000;
/** API servers cut longer ones. */
const MAX_WARNING = 250;

export function verdictOf(
  { uid }: Pick<AdmissionRequest, 'uid'>,
  decision: ReviewDecision,
): AdmissionResponse {
  const { violations, security } = decision;
  const refused = [...violations, ...(security?.refused === true ? security.violations : [])];
  if (refused.length === 0) {
    const warnings = security === undefined ? [] : [cut(`would violate ${security.message}`, MAX_WARNING)];
    return { uid, allowed: true, ...(warnings.length > 0 && { warnings }) };
  }
  const places = security?.refused === true ? fieldsOf(security.violations) : '';
  const said = [
    ...violations.slice(0, MAX_CAUSES).map(({ message }) => message),
    ...(violations.length > MAX_CAUSES ? [`and ${violations.length - MAX_CAUSES} more`] : []),
    ...(security?.refused === true ? [`violates ${security.message}${places}`] : []),
  ];
  return {
    uid,
    allowed: false,
    status: {
      status: 'Failure',
      code: 403,
      reason: 'Forbidden',
      message: cut(said.join('; '), MAX_MESSAGE),
      details: {
        causes: refused.slice(0, MAX_CAUSES).map(({ path, message }) => ({
          reason: 'FieldValueForbidden',
          message: cut(message, MAX_WARNING),
          field: cut(path, MAX_WARNING),
        })),
      },
    },
  };
}

export function isRefused({ violations, security }: ReviewDecision): boolean {
  return violations.length > 0 || security?.refused === true;
}

/** @param why the user's rights could not be reviewed */
export function uncheckedVerdict({ uid }: Pick<AdmissionRequest, 'uid'>, why: string): AdmissionResponse {
  const message = cut(`the rights of the user could not be reviewed: ${why}`, MAX_MESSAGE);
  return {
    uid,
    allowed: false,
    status: { status: 'Failure', code: 503, reason: 'ServiceUnavailable', message },
  };
}

/** The messages of the standards name containers and volumes, but no fields. */
function fieldsOf(violations: readonly Violation[]): string {
  const paths = [...new Set(violations.map(({ path }) => path))];
  const more = paths.length > MAX_CAUSES ? `, and ${paths.length - MAX_CAUSES} more` : '';
  return ` at ${paths.slice(0, MAX_CAUSES).join(', ')}${more}`;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;
}
