/**
 * The permits of one call: a short request or an upgrade needs one as long as it has a connection, guests
 * share one more, and a write that the admission webhook reviews needs another until the API server responds.
 */
import type { Semaphore } from '../limits/keyed-semaphore.ts';
import type { AccountLimits } from './account-limits.ts';
import { type CallRequest, heldBytes, type Sending } from './call-request.ts';

/** A base class and not a member of the call: a request that waits for nothing should create few objects. */
export abstract class PermittedCall {
  protected readonly request: CallRequest;
  protected readonly sending: Sending;
  /** Whether it has a permit as long as it has a connection; then its time is limited, too. */
  protected readonly isShort: boolean;
  readonly #limits: AccountLimits;
  /** Each is undefined without a permit. */
  #connection: Semaphore | undefined;
  #part: Semaphore | undefined;
  #review: Semaphore | undefined;

  constructor(request: CallRequest, sending: Sending, limits: AccountLimits) {
    this.request = request;
    this.sending = sending;
    this.#limits = limits;
    this.isShort = request.longRunning !== true || sending.upgrade !== undefined;
  }

  protected abstract onWaiting(wait: { cancel(): void }): void;

  protected abstract onPermitted(): void;

  /** Ends the call, unless it has ended. */
  protected abstract fail(error: unknown): void;

  /** Whether the admission webhook may be called for it: the API server does that even if it is cancelled. */
  protected get isInReview(): boolean {
    return this.#review !== undefined;
  }

  /** Ends with `onPermitted` or `fail`, unless the wait is cancelled. */
  protected acquire(): void {
    const { account, method, target, longRunning = false, isAdmitted = false } = this.request;
    try {
      if (!isAdmitted) this.#limits.admit(account, longRunning ? 1 : 0);
      if (this.isShort) {
        const reviews = this.#limits.reviewedWrites?.of(account, method, target);
        const isPart = this.#limits.partOf(account) !== undefined;
        if (reviews !== undefined || isPart || !this.#tryAcquire()) {
          void this.#wait(reviews);
          return;
        }
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    this.onPermitted();
  }

  /** The response's head has arrived; its body may take long, if the client reads it slowly. */
  protected responded(): void {
    this.#review?.release();
    this.#review = undefined;
  }

  /** @param closed whether the request caused its connection to be closed */
  protected release(closed: boolean): void {
    this.responded();
    if (this.#connection !== undefined && closed) this.#limits.closed(this.request.account);
    this.#connection?.release();
    this.#connection = undefined;
    this.#part?.release();
    this.#part = undefined;
  }

  /** Called if the call ends before its request was sent. */
  protected notSent(): void {
    if (this.request.longRunning === true) this.#limits.notSent(this.request.account, 1);
  }

  #tryAcquire(): boolean {
    const connections = this.#limits.connectionsOf(this.request.account);
    if (!connections.tryAcquire()) return false;
    this.#connection = connections;
    return true;
  }

  /** Acquires the connection last, since requests of other accounts may wait for it too. */
  async #wait(reviews: Semaphore | undefined): Promise<void> {
    const { account } = this.request;
    const waiting = new AbortController();
    const { signal } = waiting;
    const size = this.#limits.queuedSize(heldBytes(this.request, this.sending));
    const permitOf = async (permits: Semaphore | undefined) =>
      (await permits?.acquire(signal, size)) ? permits : undefined;
    this.onWaiting({ cancel: () => waiting.abort() });
    try {
      this.#review = await permitOf(reviews);
      this.#part = await permitOf(this.#limits.partOf(account));
      this.#connection = await permitOf(this.#limits.connectionsOf(account));
    } catch (error) {
      this.release(false);
      this.fail(error);
      return;
    }
    // It may have been cancelled after it was granted a permit.
    if (signal.aborted) this.release(false);
    else this.onPermitted();
  }
}
