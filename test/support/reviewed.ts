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

/** A reviewer with one answer, and what it is asked: about a user by name, or with their token and tenant. */
export function recordedReviewer(answer: ReviewedStatus | Error) {
  const asked: object[] = [];
  const record = async (question: object) => {
    asked.push(question);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const reviewer: AccessReviewer = {
    review: ({ username }, attributes) => record({ user: username, ...attributes }),
    reviewSelf: (token, home, attributes) => record({ token, home, ...attributes }),
  };
  return { asked, reviewer };
}
