/**
 * The access reviews of the admission webhook: SubjectAccessReviews with Stonegate's own credential. Few are
 * made at the same time, fewer for one tenant at one client address, and these take turns.
 */

import { StatusError } from '../../errors/status-error.ts';
import type { AccessReviewer } from '../../kubernetes/access-reviewer.ts';
import { STONEGATE_ACCOUNT } from '../../kubernetes/upstream-request.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { sourceKey } from '../../lib/source-key.ts';
import { KeyedSemaphore } from '../../limits/keyed-semaphore.ts';
import type { AccessReview } from './ports.ts';

export interface AdmissionAccessOptions {
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly random: Random;
}

/** Reviews at the same time. The tenant's own connections are not used: its write may hold them. */
const REVIEWS = { total: 8, perTenant: 2 };
/** Waiting ones of one tenant at one client address. The webhook bounds the requests of an address. */
const WAITING = 18;
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;

export function createAdmissionAccess({ reviewer, clock, random }: AdmissionAccessOptions): AccessReview {
  const reviews = new KeyedSemaphore({
    clock,
    permits: REVIEWS.total,
    permitsPerKey: REVIEWS.perTenant,
    queue: Number.POSITIVE_INFINITY,
    queuePerKey: WAITING,
    queueTimeout: QUEUE_TIMEOUT,
    refusal: tooMany,
  });

  /**
   * For rights on every object: RBAC allows an unknown name by rules without names alone, whereas a rule may
   * hold the empty name.
   */
  const anyName = random.uuid();

  return {
    async isAllowed({ username, groups, uid = '', extra = {} }, right, { tenant }, { source, signal }) {
      const permit = reviews.of(JSON.stringify([sourceKey(source), tenant ?? '']));
      if (!permit.tryAcquire() && !(await permit.acquire(signal)))
        throw new StatusError('UpstreamTimeout', 'the API server did not answer in time');
      try {
        const named = { name: anyName, ...right };
        const { allowed, denied = false } = await reviewer.review(
          { username, groups, uid, extra },
          { resourceAttributes: tenant === undefined ? named : { ...named, tenant } },
          STONEGATE_ACCOUNT,
          signal,
        );
        return allowed && !denied;
      } finally {
        permit.release();
      }
    },
  };
}

function tooMany(): StatusError {
  return new StatusError('AdmissionRateExceeded', 'too many access reviews of the admission webhook wait');
}

/** What a process without an API server to ask uses. */
export const noAdmissionAccess: AccessReview = {
  async isAllowed() {
    throw new StatusError(
      'UpstreamUnavailable',
      'the configuration of the admission webhook has no section `upstream`',
    );
  },
};
