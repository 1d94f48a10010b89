/**
 * The access reviews of the admission webhook: SubjectAccessReviews with Stonegate's own credential. Few are
 * made at the same time, fewer for one client address and for one tenant, so that none holds up all others.
 */
import type { AccessReview } from '../admission/ports.ts';
import { STONEGATE_ACCOUNT } from '../api/upstream-request.ts';
import type { AccessReviewer } from '../authorization/access-reviewer.ts';
import { StatusError } from '../errors/status-error.ts';
import type { Clock } from '../lib/clock.ts';
import { KeyedSemaphore, type Semaphore } from '../lib/keyed-semaphore.ts';
import type { Random } from '../lib/random.ts';
import { sourceKey } from '../lib/source-key.ts';

export interface AdmissionAccessOptions {
  readonly reviewer: AccessReviewer;
  readonly clock: Clock;
  readonly random: Random;
}

/** At the same time. The tenant's own connections are not used: its write may hold them. */
const REVIEWS = { total: 8, perSource: 4, perTenant: 2 };
/** Waiting ones of one source, of which a tenant has at most two; and of a tenant behind these. */
const WAITING = { perSource: 96, perTenant: 18 };
const UNBOUNDED = Number.POSITIVE_INFINITY;
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;

export function createAdmissionAccess({ reviewer, clock, random }: AdmissionAccessOptions): AccessReview {
  const options = { clock, queue: UNBOUNDED, queueTimeout: QUEUE_TIMEOUT, refusal: tooMany };
  const tenants = new KeyedSemaphore({
    ...options,
    permits: UNBOUNDED,
    permitsPerKey: REVIEWS.perTenant,
    queuePerKey: WAITING.perTenant,
  });
  const sources = new KeyedSemaphore({
    ...options,
    permits: REVIEWS.total,
    permitsPerKey: REVIEWS.perSource,
    queuePerKey: WAITING.perSource,
  });

  /**
   * For rights on every object: RBAC allows an unknown name by rules without names alone, whereas a rule may
   * hold the empty name.
   */
  const anyName = random.uuid();

  return {
    isAllowed({ username, groups, uid = '', extra = {} }, right, { tenant }, { source, signal }) {
      const address = sourceKey(source);
      const review = async () => {
        const named = { name: anyName, ...right };
        const { allowed, denied = false } = await reviewer.review(
          { username, groups, uid, extra },
          { resourceAttributes: tenant === undefined ? named : { ...named, tenant } },
          STONEGATE_ACCOUNT,
          signal,
        );
        return allowed && !denied;
      };
      // A tenant with many reviews waits before it takes a place in its source's queue.
      return withPermit(tenants.of(`${address} ${tenant ?? ''}`), signal, () =>
        withPermit(sources.of(address), signal, review),
      );
    },
  };
}

async function withPermit<T>(permit: Semaphore, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (!permit.tryAcquire() && !(await permit.acquire(signal)))
    throw new StatusError('UpstreamTimeout', 'the API server did not answer in time');
  try {
    return await work();
  } finally {
    permit.release();
  }
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
