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
const REVIEWS = { total: 8, perSource: 4, perTenant: 2 };
/** Waiting ones of one source, and of one tenant from it: the largest queue makes room for others. */
const WAITING = { perSource: 48, perTenant: 18 };
/** Milliseconds; the webhook gives up before. */
const QUEUE_TIMEOUT = 5_000;
const NO_BYTES = Number.POSITIVE_INFINITY;

type Permit = ReturnType<KeyedSemaphore['of']>;

export function createAdmissionAccess({ reviewer, clock, random }: AdmissionAccessOptions): AccessReview {
  const queueOf = (requests: number) => ({ requests, bytes: NO_BYTES });
  const options = { clock, queueTimeout: QUEUE_TIMEOUT, refusal: tooMany };
  const reviews = new KeyedSemaphore({
    ...options,
    permits: REVIEWS.total,
    permitsPerKey: REVIEWS.perSource,
    queue: queueOf(Number.POSITIVE_INFINITY),
    queuePerKey: queueOf(REVIEWS.perSource),
  });
  /** Of each source that has reviews: its tenants take turns. */
  const sources = new Map<string, KeyedSemaphore>();

  function tenantsOf(address: string): KeyedSemaphore {
    const known = sources.get(address);
    if (known !== undefined) return known;
    const created = new KeyedSemaphore({
      ...options,
      permits: REVIEWS.perSource,
      permitsPerKey: REVIEWS.perTenant,
      queue: queueOf(WAITING.perSource),
      queuePerKey: queueOf(WAITING.perTenant),
    });
    sources.set(address, created);
    return created;
  }

  async function inTurn<T>(
    address: string,
    tenant: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const tenants = tenantsOf(address);
    try {
      return await withPermit(tenants.of(tenant), signal, () =>
        withPermit(reviews.of(address), signal, work),
      );
    } finally {
      if (tenants.inUse === 0 && tenants.queued.requests === 0) sources.delete(address);
    }
  }

  /**
   * For rights on every object: RBAC allows an unknown name by rules without names alone, whereas a rule may
   * hold the empty name.
   */
  const anyName = random.uuid();

  return {
    isAllowed({ username, groups, uid = '', extra = {} }, right, { tenant }, { source, signal }) {
      return inTurn(sourceKey(source), tenant ?? '', signal, async () => {
        const named = { name: anyName, ...right };
        const { allowed, denied = false } = await reviewer.review(
          { username, groups, uid, extra },
          { resourceAttributes: tenant === undefined ? named : { ...named, tenant } },
          STONEGATE_ACCOUNT,
          signal,
        );
        return allowed && !denied;
      });
    },
  };
}

async function withPermit<T>(permit: Permit, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (!permit.tryAcquire() && !(await permit.acquire(0, signal)))
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
