/**
 * The access reviews of the admission webhook: SubjectAccessReviews with Stonegate's own credential. Few are
 * made at the same time, fewer for one client address and for one tenant, so that none holds up all others.
 */
import type { AccessReview } from '../admission/ports.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore } from '../lib/keyed-semaphore.ts';
import type { Random } from '../lib/random.ts';
import { sourceKey } from '../lib/source-key.ts';

export interface AdmissionAccessOptions {
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly random: Random;
}

/** At the same time. The tenant's own connections are not used: its write may hold them. */
const REVIEWS = { total: 8, perSource: 4 };
/** Waiting ones. Fewer requests wait so than one API server may have reviewed at the same time. */
const WAITING = { total: 256, perSource: 48 };
/** Waiting or under way, of one tenant from one source. */
const REVIEWS_PER_TENANT = 20;
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;
const NO_BYTES = Number.POSITIVE_INFINITY;

export function createAdmissionAccess({ reviewer, clock, random }: AdmissionAccessOptions): AccessReview {
  const reviews = new KeyedSemaphore({
    clock,
    permits: REVIEWS.total,
    permitsPerKey: REVIEWS.perSource,
    queue: { requests: WAITING.total, bytes: NO_BYTES },
    queuePerKey: { requests: WAITING.perSource, bytes: NO_BYTES },
    queueTimeout: QUEUE_TIMEOUT,
    refusal: tooMany,
  });
  const pending = new Map<string, number>();
  /**
   * For rights on every object: RBAC allows an unknown name by rules without names alone, whereas a rule may
   * hold the empty name.
   */
  const anyName = random.uuid();

  return {
    async isAllowed({ username, groups, uid = '', extra = {} }, right, { tenant }, { source, signal }) {
      const address = sourceKey(source);
      const key = `${address} ${tenant ?? ''}`;
      const ofTenant = pending.get(key) ?? 0;
      if (ofTenant >= REVIEWS_PER_TENANT) throw tooMany();
      pending.set(key, ofTenant + 1);
      const permit = reviews.of(address);
      let isAcquired = false;
      try {
        isAcquired = await permit.acquire(0, signal);
        if (!isAcquired) throw new StatusError('UpstreamTimeout', 'the API server did not answer in time');
        const named = { name: anyName, ...right };
        const { allowed, denied = false } = await reviewer.review(
          { username, groups, uid, extra },
          { resourceAttributes: tenant === undefined ? named : { ...named, tenant } },
          STONEGATE_ACCOUNT,
          signal,
        );
        return allowed && !denied;
      } finally {
        if (isAcquired) permit.release();
        const left = (pending.get(key) ?? 1) - 1;
        if (left === 0) pending.delete(key);
        else pending.set(key, left);
      }
    },
  };
}

function tooMany(): StatusError {
  return new StatusError('AdmissionRateExceeded', 'too many access reviews of the admission webhook wait');
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
