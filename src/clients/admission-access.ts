/**
 * The access reviews of the admission webhook: SubjectAccessReviews with Stonegate's own credential, few at
 * the same time and fewer for one tenant, so that no tenant's requests hold up the reviews of others.
 */
import type { AccessReview } from '../admission/ports.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore } from '../lib/keyed-semaphore.ts';
import type { Random } from '../lib/random.ts';

export interface AdmissionAccessOptions {
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly random: Random;
}

/** At the same time. The tenant's own connections are not used: its write may hold them. */
const REVIEWS = { total: 8, perTenant: 4 };
/** Waiting ones. Fewer requests wait so than one API server may have reviewed at the same time. */
const WAITING = { total: 32, perTenant: 16 };
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;
const NO_BYTES = Number.POSITIVE_INFINITY;

export function createAdmissionAccess({ reviewer, clock, random }: AdmissionAccessOptions): AccessReview {
  const reviews = new KeyedSemaphore({
    clock,
    permits: REVIEWS.total,
    permitsPerKey: REVIEWS.perTenant,
    queue: { requests: WAITING.total, bytes: NO_BYTES },
    queuePerKey: { requests: WAITING.perTenant, bytes: NO_BYTES },
    queueTimeout: QUEUE_TIMEOUT,
    refusal: () =>
      new StatusError('AdmissionRateExceeded', 'too many access reviews of the admission webhook wait'),
  });
  /**
   * For rights on every object: RBAC allows an unknown name by rules without names alone, whereas a rule may
   * hold the empty name.
   */
  const anyName = random.uuid();

  return {
    async isAllowed({ username, groups, uid = '', extra = {} }, right, { tenant }, signal) {
      const permit = reviews.of(tenant ?? '');
      if (!(await permit.acquire(0, signal)))
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

/** Without an API server to ask. */
export const noAdmissionAccess: AccessReview = {
  async isAllowed() {
    throw new StatusError(
      'UpstreamUnavailable',
      'the configuration of the admission webhook has no section `upstream`',
    );
  },
};
