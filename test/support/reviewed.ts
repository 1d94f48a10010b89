/** Access reviews whose answer a test decides. */
import type {
  AccessAttributes,
  AccessReviewer,
  ReviewedStatus,
} from '../../src/kubernetes/access-reviewer.ts';

export interface Reviewed {
  /** The answer to each review. */
  allowed: boolean;
  /** What was asked. */
  readonly asked: AccessAttributes[];
  readonly reviewer: AccessReviewer;
}

export function createReviewed(): Reviewed {
  const reviewed: Reviewed = {
    allowed: false,
    asked: [],
    reviewer: {
      review: async (_user, attributes) => answer(attributes),
      reviewSelf: async (_token, _home, attributes) => answer(attributes),
    },
  };
  function answer(attributes: AccessAttributes): ReviewedStatus {
    reviewed.asked.push(attributes);
    return { allowed: reviewed.allowed };
  }
  return reviewed;
}
