/**
 * Rights without which a request is refused, and the reviews of them. What is required follows from the
 * request alone; only the reviews are asked of the API server, and one that fails is never a permission.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { AdmissionUser } from '../../kubernetes/admission-v1.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { AccessReview, ReviewCaller, ReviewPlace, Right } from './ports.ts';
import type { Violation } from './violation.ts';

export interface RequiredRight {
  readonly right: Right;
  /** Why the request is refused without it. */
  readonly violation: Violation;
}

export interface RequiredAccess {
  /** A user with this right needs none of the others. */
  readonly sufficient?: Right;
  /** Each of them is needed. */
  readonly rights: readonly RequiredRight[];
}

export interface AccessDecision {
  /** Rights that the user lacks; those behind the first are not asked about. */
  readonly violations: readonly Violation[];
  /** Why it could not be told what the user may do; then the request is refused. */
  readonly unknown?: string;
}

/** Reviews for one request at the same time. */
const AT_ONCE = 2;

/**
 * @param place where the user's rights are reviewed
 * @param caller if its signal is aborted, the request is refused
 */
export async function decideAccess(
  required: readonly RequiredAccess[],
  user: AdmissionUser,
  place: ReviewPlace,
  { isAllowed }: AccessReview,
  caller: ReviewCaller,
): Promise<AccessDecision> {
  const holds = (right: Right) => isAllowed(user, right, place, caller);
  try {
    for (const { sufficient, rights } of required) {
      if (sufficient !== undefined && (await holds(sufficient))) continue;
      await mapWithConcurrency(rights, AT_ONCE, async ({ right, violation }) => {
        if (!(await holds(right))) throw new Missing(violation);
      });
    }
    return { violations: [] };
  } catch (error) {
    if (error instanceof Missing) return { violations: [error.violation] };
    if (error instanceof StatusError) return { violations: [], unknown: error.message };
    throw error;
  }
}

/** Ends the reviews of a request: the first right that is missing refuses it. */
class Missing extends Error {
  readonly violation: Violation;

  constructor(violation: Violation) {
    super(violation.message);
    this.violation = violation;
  }
}
