/**
 * Applies a plan, one tenant or namespace after the other, a few at a time. A failed change is reported and
 * stops no other, except bindings to a role that could not be written. If the API server does not respond,
 * the rest of that place waits for the next run, and after several such places the rest of all.
 */
import type { ErrorCode } from '../errors/codes.ts';
import { reasonOf, StatusError } from '../errors/status-error.ts';
import { mapWithConcurrency } from '../lib/concurrency.ts';
import type { Copy } from './copy.ts';
import { copyKey, roleKey } from './desired-copies.ts';
import { NAMESPACES, type PublishingChange, type PublishingPlan, TENANTS } from './plan.ts';
import type { PublishedObjects } from './ports.ts';
import { isReceiver } from './receivers.ts';
import { CopyConflict, isNamespace, writeCopy } from './write-copy.ts';

export interface PublishingFailure {
  readonly change: PublishingChange;
  readonly reason: string;
}

export interface PublishingProgress extends Partial<Pick<PublishingFailure, 'reason'>> {
  readonly change: PublishingChange;
  readonly finished: number;
  readonly total: number;
}

export interface ApplyPublishingOptions {
  readonly objects: PublishedObjects;
  /** Told of each change when it is over; `reason` is that of a failure. */
  readonly onProgress?: (progress: PublishingProgress) => void;
  /** Nothing further is begun once it is aborted. */
  readonly signal: AbortSignal;
}

export interface PublishingResult {
  readonly done: readonly PublishingChange[];
  readonly failures: readonly PublishingFailure[];
}

interface Failure {
  readonly reason: string;
  /** Whether the API server did not respond. */
  readonly isSilent: boolean;
}

const CONCURRENCY = 4;
/** So many places may fail because the API server does not respond; then the run ends. */
const MAX_SILENT_PLACES = 8;
const NOT_REACHED: ReadonlySet<ErrorCode> = new Set([
  'UpstreamUnavailable',
  'UpstreamTimeout',
  'UpstreamRefusedCredential',
]);

export async function applyPublishing(
  plan: PublishingPlan,
  options: ApplyPublishingOptions,
): Promise<PublishingResult> {
  const applier = new Applier(plan.changes.length, options);
  const places = Map.groupBy(plan.changes, ({ place }) => place.tenant ?? place.namespace ?? '');
  await mapWithConcurrency([...places.values()], CONCURRENCY, (changes) => applier.applyTo(changes));
  return { done: applier.done, failures: applier.failures };
}

class Applier {
  readonly done: PublishingChange[] = [];
  readonly failures: PublishingFailure[] = [];
  readonly #total: number;
  readonly #options: ApplyPublishingOptions;
  #silentPlaces = 0;

  constructor(total: number, options: ApplyPublishingOptions) {
    this.#total = total;
    this.#options = options;
  }

  /** @param changes of one tenant or namespace, in their order */
  async applyTo(changes: readonly PublishingChange[]): Promise<void> {
    const missing = new Set<string>();
    let isSilent = false;
    let verified: Failure | 'verified' | undefined;
    for (const change of changes) {
      const hindrance = this.#hindrance(change, missing, isSilent);
      if (hindrance === undefined && change.copy !== undefined)
        verified ??= (await this.#attempt(() => this.#verify(change.copy))) ?? 'verified';
      const unverified = change.copy === undefined || verified === 'verified' ? undefined : verified;
      const failure =
        hindrance === undefined ? (unverified ?? (await this.#write(change))) : { reason: hindrance };
      if (failure === undefined) this.done.push(change);
      else {
        this.failures.push({ change, reason: failure.reason });
        missing.add(keyOf(change));
        isSilent ||= 'isSilent' in failure && failure.isSilent;
      }
      const finished = this.done.length + this.failures.length;
      this.#options.onProgress?.({
        change,
        finished,
        total: this.#total,
        ...(failure && { reason: failure.reason }),
      });
    }
    if (isSilent) this.#silentPlaces += 1;
  }

  #hindrance(change: PublishingChange, missing: ReadonlySet<string>, isSilent: boolean): string | undefined {
    if (this.#options.signal.aborted) return 'the run was broken off before';
    if (isSilent || this.#silentPlaces >= MAX_SILENT_PLACES) return 'the API server did not respond before';
    const { copy, place } = change;
    if (copy === undefined) return undefined;
    const { tenant, namespace } = place;
    if (missing.has(namespaceKey(tenant, namespace))) return 'its namespace could not be created';
    const role = roleKey(copy.source, place);
    return role !== undefined && missing.has(role) ? 'its role could not be written' : undefined;
  }

  /** Since it was selected, a tenant may have been deleted and made again, or have other labels. */
  async #verify(copy: Copy | undefined): Promise<void> {
    if (copy === undefined) return;
    const { objects, signal } = this.#options;
    const { place } = copy.receiver;
    const [kind, name] =
      place.tenant === undefined ? [NAMESPACES, place.namespace ?? ''] : [TENANTS, place.tenant];
    if (!isReceiver(copy.receiver, await objects.get(kind, {}, name, signal)))
      throw new CopyConflict(`${name} has changed since it was selected`);
  }

  #write(change: PublishingChange): Promise<Failure | undefined> {
    const { objects, signal } = this.#options;
    return this.#attempt(() => writeCopy(objects, change, signal));
  }

  async #attempt(work: () => Promise<void>): Promise<Failure | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (error instanceof CopyConflict) return { reason: error.message, isSilent: false };
      if (!(error instanceof StatusError)) throw error;
      return { reason: reasonOf(error), isSilent: NOT_REACHED.has(error.code) };
    }
  }
}

function keyOf(change: PublishingChange): string {
  const { kind, place, object } = change;
  const { name } = object.metadata;
  return isNamespace(change) ? namespaceKey(place.tenant, name) : copyKey(kind, place, name);
}

function namespaceKey(tenant: string | undefined, namespace: string | undefined): string {
  return `namespace ${tenant ?? ''}/${namespace ?? ''}`;
}
