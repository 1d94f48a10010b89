/**
 * Admits what a tenant asks for and reserves it in its TenantQuota, whose resourceVersion is the lock
 * between replicas. Requests of one tenant that wait are judged together, in the order of their arrival, and
 * written with one update.
 */

import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import { type Claim, judge, type Ledger, type Verdict } from './ledger.ts';
import { ledgerOf, reservationStatus } from './stored-ledger.ts';
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
  /** With a credential that may get TenantQuotas and patch their status. */
  readonly objects: Objects;
  readonly place: Place;
  /** Whether what is admitted is reserved; otherwise it is only judged. */
  readonly reserves: boolean;
}

/** Updates that another client's change may defeat before the request is refused. */
const ATTEMPTS = 8;

interface Waiting {
  readonly request: QuotaRequest;
  readonly judged: PromiseWithResolvers<Judged>;
}

export function createReservations({ objects, place, reserves }: ReservationsOptions): Reservations {
  const queues = new Map<string, Waiting[]>();
  const closing = new AbortController();

  /** Works until no request of the tenant waits. */
  async function work(tenant: string, queue: Waiting[]): Promise<void> {
    let known: TenantQuota | undefined;
    while (queue.length > 0) {
      const batch = queue.splice(0).filter(({ request }) => !request.signal.aborted);
      try {
        known = await decide(tenant, batch, known);
      } catch (error) {
        known = undefined;
        for (const { judged } of batch) judged.reject(error);
      }
    }
    queues.delete(tenant);
  }

  /**
   * @param known as it was last written here
   * @returns the object as it is known now
   */
  async function decide(
    tenant: string,
    batch: readonly Waiting[],
    known: TenantQuota | undefined,
  ): Promise<TenantQuota | undefined> {
    let quota = known;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const isRead = quota === undefined;
      quota ??= await read(tenant);
      if (quota === undefined) return answer(alike(batch, 'absent'), undefined);
      const { outcomes, ledger, isChanged } = judgeAll(ledgerOf(quota), batch);
      const isWritten = isChanged && reserves;
      const written = isWritten ? await write(quota, ledger) : quota;
      // What is refused must be over the quota as it is now: what was written, or just read, is.
      const isCurrent = isRead || isWritten || outcomes.every(({ verdict }) => verdict.kind === 'admitted');
      if (written !== undefined && isCurrent) return answer(outcomes, written);
      quota = undefined;
    }
    return answer(alike(batch, 'contended'), undefined);
  }

  async function read(tenant: string): Promise<TenantQuota | undefined> {
    const object = await objects.get(TENANT_QUOTAS, place, tenant, closing.signal);
    return object && readTenantQuota(object);
  }

  /** @returns undefined if the object has changed meanwhile */
  async function write(quota: TenantQuota, ledger: Ledger): Promise<TenantQuota | undefined> {
    const status = { reservations: reservationStatus(ledger) };
    const written = await objects.updateStatus(TENANT_QUOTAS, place, quota, status, closing.signal);
    return typeof written === 'string' ? undefined : readTenantQuota(written);
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

function answer(outcomes: readonly Outcome[], quota: TenantQuota | undefined): TenantQuota | undefined {
  for (const { waiting, verdict } of outcomes) waiting.judged.resolve({ verdict, quota });
  return quota;
}

/** Judges the requests in order: what one is admitted counts for the next. */
function judgeAll(ledger: Ledger, batch: readonly Waiting[]) {
  let current = ledger;
  const outcomes = batch.map((waiting): Outcome => {
    const { request } = waiting;
    const missing = request.missing(ledger.hard.keys());
    if (missing.length > 0) return { waiting, verdict: { kind: 'unspecified', missing } };
    const verdict = judge(current, request);
    if (verdict.kind === 'admitted' && !request.isDryRun) current = verdict.ledger;
    return { waiting, verdict };
  });
  return { outcomes, ledger: current, isChanged: current !== ledger };
}
