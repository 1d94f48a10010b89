/**
 * Admits what a tenant asks for and reserves it in its TenantQuota, whose resourceVersion is the lock
 * between replicas. Requests of one tenant that wait are judged together, in the order of their arrival, and
 * written with one update.
 */

import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Clock } from '../../lib/clock.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { type Claim, judge, type Ledger, type Verdict } from './ledger.ts';
import { ledgerOf, linesOf } from './stored-ledger.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';

export interface QuotaRequest extends Claim {
  /** Nothing is reserved for a dry run. */
  readonly isDryRun: boolean;
  /** Names of resources in `hard` that a container does not request, in Kubernetes' words. */
  readonly missing: (hard: Iterable<string>) => readonly string[];
  /** Aborted if no one waits for the verdict any more: then nothing is reserved. */
  readonly signal: AbortSignal;
}

export type QuotaVerdict =
  | Exclude<Verdict, { kind: 'admitted' }>
  | { readonly kind: 'admitted' }
  /** The quota limits resources that the object does not say. */
  | { readonly kind: 'unspecified'; readonly missing: readonly string[] }
  /** The tenant has no TenantQuota yet. */
  | { readonly kind: 'absent' }
  /** Other replicas were faster each time. */
  | { readonly kind: 'contended' };

export interface Judged {
  readonly verdict: QuotaVerdict;
  /** The object that was judged by; its quantities say in which form amounts are written. */
  readonly quota: TenantQuota | undefined;
}

export interface Reservations {
  /** @throws StatusError if the API server does not respond, or refuses; the signal's reason */
  admit(tenant: string, request: QuotaRequest): Promise<Judged>;
  /** Ends what runs. */
  close(): void;
}

export interface ReservationsOptions {
  /** With a credential that may get TenantQuotas and update their status. */
  readonly objects: Objects;
  readonly place: Place;
  readonly clock: Clock;
  /** Whether what is admitted is reserved; otherwise it is only judged. */
  readonly reserves: boolean;
}

/** Updates that another client's change may defeat before the request is refused. */
const ATTEMPTS = 8;
/** Milliseconds for which what was written is judged by without being read again. */
const SNAPSHOT_LIFETIME = 1_000;
const MAX_SNAPSHOTS = 1_000;

interface Waiting {
  readonly request: QuotaRequest;
  readonly judged: PromiseWithResolvers<Judged>;
}

interface Snapshot {
  readonly quota: TenantQuota;
  readonly ledger: Ledger;
}

export function createReservations(options: ReservationsOptions): Reservations {
  const { objects, place, clock, reserves } = options;
  const queues = new Map<string, Waiting[]>();
  /** As they were last written here, by tenant. */
  const written = createExpiringCache<Snapshot>({ maxEntries: MAX_SNAPSHOTS, clock });
  const closing = new AbortController();

  /** Works until no request of the tenant waits. */
  async function work(tenant: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0).filter(({ request }) => !request.signal.aborted);
      try {
        await decide(tenant, batch);
      } catch (error) {
        for (const { judged } of batch) judged.reject(error);
      }
    }
    queues.delete(tenant);
  }

  async function decide(tenant: string, batch: readonly Waiting[]): Promise<void> {
    let known = written.get(tenant);
    written.delete(tenant);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const isRead = known === undefined;
      known ??= await read(tenant);
      if (known === undefined) return answer(alike(batch, 'absent'), undefined);
      const { outcomes, ledger } = judgeAll(known, batch);
      const isWritten = ledger !== known.ledger && reserves;
      const present = isWritten ? await write(known.quota, ledger) : known;
      // What is refused must be over the quota as it is now: what was written, or just read, is.
      const isCurrent = isRead || isWritten || outcomes.every(({ verdict }) => verdict.kind === 'admitted');
      if (present !== undefined && isCurrent) {
        if (reserves) written.set(tenant, present, clock.now() + SNAPSHOT_LIFETIME);
        return answer(outcomes, present.quota);
      }
      known = undefined;
    }
    return answer(alike(batch, 'contended'), undefined);
  }

  async function read(tenant: string): Promise<Snapshot | undefined> {
    const object = await objects.get(TENANT_QUOTAS, place, tenant, closing.signal);
    const quota = object && readTenantQuota(object);
    return quota && { quota, ledger: ledgerOf(quota) };
  }

  /** @returns undefined if the object has changed meanwhile */
  async function write(quota: TenantQuota, ledger: Ledger): Promise<Snapshot | undefined> {
    const { reservations: _moved, ...status } = quota.status;
    const changed = { ...quota, status: { ...status, ledger: linesOf(ledger) } };
    const outcome = await objects.update(TENANT_QUOTAS, place, changed, closing.signal, 'status');
    if (typeof outcome === 'string') return undefined;
    // Everything else is as it was, since the resourceVersion was.
    return { quota: { ...changed, metadata: outcome.metadata }, ledger };
  }

  return {
    async admit(tenant, request) {
      const { signal } = request;
      signal.throwIfAborted();
      const waiting: Waiting = { request, judged: Promise.withResolvers() };
      signal.addEventListener('abort', () => waiting.judged.reject(signal.reason), { once: true });
      const queue = queues.get(tenant);
      if (queue === undefined) {
        const started = [waiting];
        queues.set(tenant, started);
        void work(tenant, started);
      } else queue.push(waiting);
      return waiting.judged.promise;
    },
    close: () => closing.abort(new Error('the configuration is no longer in force')),
  };
}

interface Outcome {
  readonly waiting: Waiting;
  readonly verdict: QuotaVerdict;
}

function alike(batch: readonly Waiting[], kind: 'absent' | 'contended'): Outcome[] {
  return batch.map((waiting) => ({ waiting, verdict: { kind } }));
}

function answer(outcomes: readonly Outcome[], quota: TenantQuota | undefined): void {
  for (const { waiting, verdict } of outcomes) waiting.judged.resolve({ verdict, quota });
}

/** Judges the requests in order: what one is admitted counts for the next. */
function judgeAll({ quota, ledger }: Snapshot, batch: readonly Waiting[]) {
  const mark = quota.metadata.resourceVersion ?? '';
  let current = ledger;
  const outcomes = batch.map((waiting): Outcome => {
    const { request } = waiting;
    const missing = request.missing(ledger.hard.keys());
    if (missing.length > 0) return { waiting, verdict: { kind: 'unspecified', missing } };
    const verdict = judge(current, request, mark);
    if (verdict.kind === 'admitted' && !request.isDryRun) current = verdict.ledger;
    return { waiting, verdict };
  });
  return { outcomes, ledger: current };
}
