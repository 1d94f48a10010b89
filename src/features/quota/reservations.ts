/**
 * Admits what a tenant asks for and reserves it in its TenantQuota, whose resourceVersion is the lock
 * between replicas. Requests of one tenant that wait are judged together, in the order of their arrival, and
 * written with one update; far from the limits it reserves for further ones too.
 */

import type { Place } from '../../kubernetes/kubernetes-object.ts';
import type { Objects } from '../../kubernetes/objects.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { createExpiringCache } from '../../limits/expiring-cache.ts';
import { ADVANCE_LIFETIME, Advance, claimInAdvance } from './advance.ts';
import {
  type AdvanceBounds,
  advanceFor,
  type Claim,
  judge,
  type Ledger,
  reserve,
  type Verdict,
  without,
} from './ledger.ts';
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
  /** Ends what runs. What was reserved in advance ends with time. */
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
/** Milliseconds for which it admits what reserves nothing: no conflict tells of other limits then. */
const FRESH = 1_000;
const MAX_SNAPSHOTS = 1_000;
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
    written: createExpiringCache({ maxEntries: MAX_SNAPSHOTS, clock: options.clock }),
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

interface SharedState extends ReservationsOptions {
  /** TenantQuotas as they were last written here, by tenant. */
  readonly written: ReturnType<typeof createExpiringCache<Snapshot>>;
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
  #advance: { readonly of: Advance; readonly quota: TenantQuota } | undefined;
  /** The lines of former advances, and what was admitted from them: both are written next. */
  #owed: { readonly lines: readonly string[]; readonly admitted: readonly Claim[] } = NOTHING_OWED;
  #timer: Timer | undefined;

  constructor(tenant: string, state: SharedState) {
    this.#tenant = tenant;
    this.#state = state;
  }

  async admit(request: QuotaRequest): Promise<Judged> {
    const { clock } = this.#state;
    const { of: advance, quota } = this.#advance ?? {};
    const mayTake = !request.isDryRun && quota && request.missing(Object.keys(quota.spec.hard)).length === 0;
    if (mayTake && advance?.take(request, clock.monotonic())) return { verdict: { kind: 'admitted' }, quota };
    const waiting: Waiting = { request, judged: Promise.withResolvers() };
    request.signal.addEventListener('abort', () => waiting.judged.reject(request.signal.reason), {
      once: true,
    });
    this.#queue.push(waiting);
    if (!this.#isWorking) void this.#work();
    return waiting.judged.promise;
  }

  close(): void {
    this.#timer?.cancel();
    this.#advance = undefined;
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
    const isOwing = this.#owed.lines.length > 0;
    if (signal.aborted || (this.#advance === undefined && !isOwing)) return end(this.#tenant);
    this.#timer = clock.after(isOwing ? RETRY : ADVANCE_LIFETIME, () => void this.#work());
  }

  async #decide(batch: readonly Waiting[]): Promise<void> {
    const { clock, written, reserves } = this.#state;
    const begun = clock.monotonic();
    let known = written.get(this.#tenant);
    const isBusy = known !== undefined || this.#advance?.of.admitted.size;
    written.delete(this.#tenant);
    this.#endAdvance();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const isRead = known === undefined;
      known ??= await this.#read();
      if (known === undefined) {
        this.#owed = NOTHING_OWED;
        return answer(alike(batch, 'absent'), undefined);
      }
      const settled = { ...known, ledger: this.#withAdmitted(known) };
      const { outcomes, ledger, admitted } = judgeAll(settled, batch);
      const sample = admitted ?? this.#owed.admitted.at(-1);
      const advance =
        isBusy && sample !== undefined ? this.#inAdvance(known, ledger, sample, begun) : undefined;
      const next = advance?.ledger ?? ledger;
      const isWritten = next !== known.ledger && reserves;
      const present = isWritten ? await this.#write(known.quota, next) : known;
      // What is refused must be over the quota as it is now: what was written, or just read, is.
      const areAdmitted = outcomes.every(({ verdict }) => verdict.kind === 'admitted');
      const isCurrent = isRead || isWritten || (areAdmitted && begun - known.at < FRESH);
      if (present !== undefined && isCurrent) {
        this.#owed = NOTHING_OWED;
        if (reserves) written.set(this.#tenant, present, clock.now() + SNAPSHOT_LIFETIME);
        if (advance !== undefined && isWritten) this.#advance = { of: advance.of, quota: present.quota };
        return answer(outcomes, present.quota);
      }
      known = undefined;
    }
    return answer(alike(batch, 'contended'), undefined);
  }

  /** Nothing is admitted from an advance while the lines of what it admitted are written. */
  #endAdvance(): void {
    if (this.#advance === undefined) return;
    const { claim, admitted } = this.#advance.of;
    const { lines, admitted: before } = this.#owed;
    this.#owed = { lines: [...lines, claim.id], admitted: [...before, ...admitted.values()] };
    this.#advance = undefined;
  }

  /** @returns the ledger itself if nothing was admitted in advance */
  #withAdmitted({ quota, ledger }: Snapshot): Ledger {
    const { lines, admitted } = this.#owed;
    const others = lines.reduce(without, ledger);
    return admitted.reduce((present, claim) => reserve(present, claim, markOn(quota)).ledger, others);
  }

  #inAdvance({ quota }: Snapshot, ledger: Ledger, { object, after }: Claim, begun: number) {
    const { random, inAdvance = IN_ADVANCE } = this.#state;
    const usage = advanceFor(ledger, after, inAdvance);
    if (usage === undefined) return undefined;
    const line = { id: random.uuid(), resource: object.resource, usage };
    const claim = claimInAdvance(line.id, line.resource, usage);
    const reserved = reserve(ledger, claim, markOn(quota)).ledger;
    const most = Number(inAdvance.objects);
    return { of: new Advance({ ...line, most, begun }, reserved), ledger: reserved };
  }

  async #read(): Promise<Snapshot | undefined> {
    const { objects, place, signal } = this.#state;
    const object = await objects.get(TENANT_QUOTAS, place, this.#tenant, signal);
    const quota = object && readTenantQuota(object);
    return quota && { quota, ledger: ledgerOf(quota), at: this.#state.clock.monotonic() };
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

const NOTHING_OWED = { lines: [], admitted: [] };

/** The mark of what is reserved on this state of the object. */
function markOn({ metadata }: TenantQuota): string {
  return metadata.resourceVersion ?? '';
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

/**
 * Judges the requests in order: what one is admitted counts for the next.
 *
 * @returns `admitted`: the last request for which something is reserved
 */
function judgeAll({ quota, ledger }: Snapshot, batch: readonly Waiting[]) {
  let current = ledger;
  let admitted: Claim | undefined;
  const outcomes = batch.map((waiting): Outcome => {
    const { request } = waiting;
    const missing = request.missing(ledger.hard.keys());
    if (missing.length > 0) return { waiting, verdict: { kind: 'unspecified', missing } };
    const verdict = judge(current, request, markOn(quota));
    if (verdict.kind === 'admitted' && verdict.ledger !== current && !request.isDryRun) {
      current = verdict.ledger;
      admitted = request;
    }
    return { waiting, verdict };
  });
  return { outcomes, ledger: current, admitted };
}
