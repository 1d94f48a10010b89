/**
 * Admits what a tenant asks for and reserves it in its TenantQuota, whose resourceVersion is the lock
 * between replicas. Requests of one tenant that wait are judged together, in the order of their arrival, and
 * written with one update; far from the limits it reserves for further ones too.
 */

import { LRUCache } from 'lru-cache';
import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { QuotaUse } from '../../kubernetes/resource-quota/quota-check.ts';
import { type Clock, type Timer, unlessAborted } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { QUOTA_LEDGERS_BYTES } from '../../limits/memory-bounds.ts';
import { ADVANCE_LIFETIME, Advance, type AdvanceBounds, advanceClaim } from './advance.ts';
import { type Claim, judge, type Ledger, reserve, type Verdict, without } from './ledger.ts';
import { ledgerOf, linesOf } from './stored-ledger.ts';
import { readTenantQuota, TENANT_QUOTAS, type TenantQuota } from './tenant-quota-v1alpha1.ts';

export interface QuotaRequest extends Claim, QuotaUse {
  /** Nothing is reserved for a dry run. */
  readonly isDryRun: boolean;
  /** Aborted if no one waits for the verdict any more: then nothing is reserved. */
  readonly signal: AbortSignal;
}

export type QuotaVerdict =
  | Verdict
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
  /** Ends running reads and writes. What was reserved in advance ends with time. */
  close(): void;
}

export interface ReservationsOptions {
  /** With a credential that may get TenantQuotas and update their status. */
  readonly objects: Objects;
  readonly place: Place;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  /** Whether what is admitted is reserved; otherwise it is only judged. */
  readonly reserves: boolean;
  readonly inAdvance?: AdvanceBounds;
}

/** Updates that another client's change may defeat before the request is refused. */
const ATTEMPTS = 8;
/** Milliseconds after which what was written is read again, since it will have been counted meanwhile. */
const SNAPSHOT_LIFETIME = 5_000;
/**
 * Milliseconds for which a TenantQuota that was not read again admits requests that reserve nothing: without
 * a write no conflict shows that its limits have changed.
 */
const FRESH = 1_000;
/** Milliseconds after which what could not be written is tried again. */
const RETRY = 1_000;
const IN_ADVANCE: AdvanceBounds = { share: 16n, objects: 64n };

interface Waiting {
  readonly request: QuotaRequest;
  readonly judged: PromiseWithResolvers<Judged>;
}

interface Snapshot {
  readonly quota: TenantQuota;
  readonly ledger: Ledger;
  /** When it was read or written, by the monotonic clock. */
  readonly at: number;
}

export function createReservations(options: ReservationsOptions): Reservations {
  const tenants = new Map<string, TenantReservations>();
  const closing = new AbortController();
  const shared: SharedState = {
    ...options,
    written: new LRUCache({ maxSize: QUOTA_LEDGERS_BYTES, sizeCalculation: bytesOf }),
    signal: closing.signal,
    end: (tenant) => void tenants.delete(tenant),
  };
  return {
    async admit(tenant, request) {
      request.signal.throwIfAborted();
      const found = tenants.get(tenant) ?? new TenantReservations(tenant, shared);
      tenants.set(tenant, found);
      return found.admit(request);
    },
    close() {
      closing.abort(new Error('the configuration is no longer in force'));
      for (const tenant of tenants.values()) tenant.close();
    },
  };
}

/** Bytes of memory that a snapshot takes, as measured: for each line 1 KiB and five times its length. */
function bytesOf({ ledger }: Snapshot): number {
  return 4_096 + 1_024 * ledger.reservations.size + 5 * ledger.bytes;
}

interface SharedState extends ReservationsOptions {
  /** TenantQuotas as this process last wrote or read them, by tenant. */
  readonly written: LRUCache<string, Snapshot>;
  readonly signal: AbortSignal;
  /** Called if nothing of a tenant is left to be done. */
  readonly end: (tenant: string) => void;
}

/** What a replica does for one tenant. */
class TenantReservations {
  readonly #tenant: string;
  readonly #state: SharedState;
  #queue: Waiting[] = [];
  #isWorking = false;
  /** The last one may still admit; the lines of what the others admitted are not written yet. */
  #advances: readonly Advance[] = [];
  #timer: Timer | undefined;

  constructor(tenant: string, state: SharedState) {
    this.#tenant = tenant;
    this.#state = state;
  }

  async admit(request: QuotaRequest): Promise<Judged> {
    const known = this.#known();
    if (known !== undefined && this.#isInAdvance(request, known))
      return { verdict: { kind: 'admitted', ledger: known.ledger }, quota: known.quota };
    const judged = Promise.withResolvers<Judged>();
    this.#queue.push({ request, judged });
    if (!this.#isWorking) void this.#work();
    return unlessAborted(judged.promise, request.signal);
  }

  close(): void {
    this.#timer?.cancel();
    this.#endAdvances();
  }

  #known(): Snapshot | undefined {
    const { clock, written } = this.#state;
    const known = written.get(this.#tenant);
    return known !== undefined && clock.monotonic() - known.at < SNAPSHOT_LIFETIME ? known : undefined;
  }

  #isInAdvance(request: QuotaRequest, { ledger }: Snapshot): boolean {
    if (request.isDryRun || request.missing(ledger.hard.keys()).length > 0) return false;
    return this.#advances.at(-1)?.take(request, ledger, this.#state.clock.monotonic()) === true;
  }

  /** Nothing is admitted from an advance while the lines of what it admitted are written. */
  #endAdvances(): void {
    for (const advance of this.#advances) advance.end();
  }

  /** Works until no request waits, and nothing has to be written. */
  async #work(): Promise<void> {
    this.#isWorking = true;
    this.#timer?.cancel();
    do {
      const batch = this.#queue.splice(0).filter(({ request }) => !request.signal.aborted);
      try {
        await this.#decide(batch);
      } catch (error) {
        for (const { judged } of batch) judged.reject(error);
      }
    } while (this.#queue.length > 0);
    this.#isWorking = false;
    const { clock, signal, end } = this.#state;
    const last = this.#advances.at(-1);
    if (signal.aborted || last === undefined) return end(this.#tenant);
    this.#timer = clock.after(last.hasEnded ? RETRY : ADVANCE_LIFETIME, () => void this.#work());
  }

  async #decide(batch: readonly Waiting[]): Promise<void> {
    const { clock, written, reserves } = this.#state;
    const answer = (verdicts: readonly QuotaVerdict[], quota?: TenantQuota) => {
      for (const [at, verdict] of verdicts.entries()) batch[at]?.judged.resolve({ verdict, quota });
    };
    const begun = clock.monotonic();
    let known = this.#known();
    const isBusy = known !== undefined;
    written.delete(this.#tenant);
    this.#endAdvances();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const isRead = known === undefined;
      known ??= await this.#read();
      if (known === undefined) {
        this.#advances = [];
        return answer(batch.map(() => ({ kind: 'absent' })));
      }
      const { quota } = known;
      const { verdicts, ledger, admitted } = judgeAll(batch, this.#withAdmitted(known), markOn(quota));
      const sample = isBusy ? (admitted ?? this.#admitted.at(-1)) : undefined;
      const further = sample && this.#inAdvance(quota, ledger, sample, begun);
      const next = further?.ledger ?? ledger;
      const isWritten = next !== known.ledger && reserves;
      const present = isWritten ? await this.#write(quota, next) : known;
      // What is refused must be over the quota as it is now: what was written, or just read, is.
      const areAdmitted = verdicts.every(({ kind }) => kind === 'admitted');
      const isCurrent = isRead || isWritten || (areAdmitted && begun - known.at < FRESH);
      if (present !== undefined && isCurrent) {
        this.#advances = isWritten && further ? [further.advance] : [];
        if (reserves) written.set(this.#tenant, present);
        return answer(verdicts, present.quota);
      }
      known = undefined;
    }
    answer(batch.map(() => ({ kind: 'contended' })));
  }

  /** @returns the ledger itself if nothing was admitted in advance */
  #withAdmitted({ quota, ledger }: Snapshot): Ledger {
    const others = this.#advances.reduce((present, { claim }) => without(present, claim.id), ledger);
    return this.#admitted.reduce((present, claim) => reserve(present, claim, markOn(quota)).ledger, others);
  }

  get #admitted(): readonly Claim[] {
    return this.#advances.flatMap(({ admitted }) => [...admitted.values()]);
  }

  #inAdvance(quota: TenantQuota, ledger: Ledger, sample: Claim, begun: number) {
    const { random, inAdvance = IN_ADVANCE } = this.#state;
    const claim = advanceClaim(random.uuid(), ledger, sample, inAdvance);
    if (claim === undefined) return undefined;
    const advance = new Advance(claim, Number(inAdvance.objects), begun);
    return { advance, ledger: reserve(ledger, claim, markOn(quota)).ledger };
  }

  async #read(): Promise<Snapshot | undefined> {
    const { objects, place, signal, clock } = this.#state;
    const object = await objects.get(TENANT_QUOTAS, place, this.#tenant, signal);
    const quota = object && readTenantQuota(object);
    return quota && { quota, ledger: ledgerOf(quota), at: clock.monotonic() };
  }

  /** @returns undefined if the object has changed meanwhile */
  async #write(quota: TenantQuota, ledger: Ledger): Promise<Snapshot | undefined> {
    const { objects, place, signal, clock } = this.#state;
    const { reservations: _moved, ...status } = quota.status;
    const changed = { ...quota, status: { ...status, ledger: linesOf(ledger) } };
    const outcome = await objects.update(TENANT_QUOTAS, place, changed, signal, 'status');
    if (typeof outcome === 'string') return undefined;
    // Everything else is as it was, since the resourceVersion was.
    return { quota: { ...changed, metadata: outcome.metadata }, ledger, at: clock.monotonic() };
  }
}

/** The mark of what is reserved on this state of the object. */
function markOn({ metadata }: TenantQuota): string {
  return metadata.resourceVersion ?? '';
}

/**
 * Judges the requests in order: what is admitted for one counts for the next.
 *
 * @returns `admitted`: the last request for which something is reserved
 */
function judgeAll(batch: readonly Waiting[], start: Ledger, mark: string) {
  let ledger = start;
  let admitted: Claim | undefined;
  const verdicts = batch.map(({ request }): QuotaVerdict => {
    const missing = request.missing(start.hard.keys());
    if (missing.length > 0) return { kind: 'unspecified', missing };
    const verdict = judge(ledger, request, mark);
    if (verdict.kind === 'admitted' && verdict.ledger !== ledger && !request.isDryRun) {
      ledger = verdict.ledger;
      admitted = request;
    }
    return verdict;
  });
  return { verdicts, ledger, admitted };
}
