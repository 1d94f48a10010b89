/**
 * Reviews the rights that a request requires of its user: SubjectAccessReviews with Stonegate's own
 * credential. Few are made at the same time, fewer for one tenant at one client address, and these take
 * turns. A review that fails is never a permission.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { AccessReviewer } from '../../kubernetes/access-reviewer.ts';
import type { AdmissionUser } from '../../kubernetes/admission-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import type { Runtime } from '../../lib/runtime.ts';
import { sourceKey } from '../../lib/source-key.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { ReviewCaller } from '../review-rule.ts';
import type { RequiredAccess, Right } from './required-rights.ts';
import type { Violation } from './violation.ts';

export interface ReviewPlace {
  /** The tenant that the review names; undefined if the API server has no tenants. */
  readonly tenant: TenantName | undefined;
}

/** @throws StatusError if the right cannot be reviewed */
export type IsAllowed = (
  user: AdmissionUser,
  right: Right,
  place: ReviewPlace,
  caller: ReviewCaller,
) => Promise<boolean>;

/** Reviews for one request at the same time. */
const AT_ONCE = 2;

/**
 * @param holds whether the user of the request has a right
 * @returns a violation for the first right that the user lacks; later ones are not reviewed
 * @throws StatusError if the rights of the user cannot be reviewed
 */
export async function missingRight(
  required: readonly RequiredAccess[],
  holds: (right: Right) => Promise<boolean>,
): Promise<Violation | undefined> {
  for (const { sufficient, rights } of required) {
    if (sufficient !== undefined && (await holds(sufficient))) continue;
    let missing: Violation | undefined;
    await mapWithConcurrency(rights, AT_ONCE, async ({ right, violation }) => {
      if (missing === undefined && !(await holds(right))) missing ??= violation;
    });
    if (missing !== undefined) return missing;
  }
  return undefined;
}

export interface RightsReviewOptions extends Pick<Runtime, 'clock' | 'random'> {
  /** Undefined if the configuration has no API server to ask. */
  readonly reviewer: Pick<AccessReviewer, 'review'> | undefined;
}

/** Reviews at the same time. The tenant's own connections are not used: its write may hold them. */
const REVIEWS = { permits: 8, permitsPerKey: 2 };
/** Waiting ones of one tenant at one client address. The webhook bounds the requests of an address. */
const WAITING = 18;
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;

export function createRightsReview({ reviewer, clock, random }: RightsReviewOptions): IsAllowed {
  const reviews = new KeyedSemaphore({
    ...REVIEWS,
    clock,
    queue: Number.POSITIVE_INFINITY,
    queuePerKey: WAITING,
    queueTimeout: QUEUE_TIMEOUT,
    refusal: () =>
      new StatusError('AdmissionRateExceeded', 'too many access reviews of the admission webhook wait'),
  });
  /**
   * Stands for every object: RBAC allows an unknown name only by rules without names, whereas a rule may
   * contain the empty name.
   */
  const anyName = random.uuid();

  return async ({ username, groups, uid = '', extra = {} }, right, { tenant }, { source, signal }) => {
    if (reviewer === undefined)
      throw new StatusError(
        'UpstreamUnavailable',
        'the configuration of the admission webhook has no section `upstream`',
      );
    const permit = reviews.of(JSON.stringify([sourceKey(source), tenant ?? '']));
    if (!(await permit.acquire(signal)))
      throw new StatusError('UpstreamTimeout', 'the API server did not answer in time');
    try {
      const { allowed, denied = false } = await reviewer.review(
        { username, groups, uid, extra },
        { resourceAttributes: { name: anyName, ...right, ...(tenant !== undefined && { tenant }) } },
        STONEGATE_ACCOUNT,
        signal,
      );
      return allowed && !denied;
    } finally {
      permit.release();
    }
  };
}
