/**
 * The permits of one call: a long-running request needs one to begin, a short one or an upgrade one as long
 * as it has a connection.
 */
import type { QueuedWaiter, Waiter } from '../lib/waiter.ts';
import type { AccountLimits } from './account-limits.ts';
import { type CallRequest, heldBytes, type Sending } from './call-request.ts';
import type { Limiter } from './write-permits.ts';

/** A base class, since each object counts in a request that waits for nothing. */
export abstract class PermittedCall implements Waiter {
  protected readonly request: CallRequest;
  protected readonly sending: Sending;
  /** Whether it has a permit as long as it has a connection; then its time is limited, too. */
  protected readonly isShort: boolean;
  readonly #limits: AccountLimits;
  /** Whose permit was asked for last, and for what. */
  #limiter: Limiter | undefined;
  #isToBegin = false;
  /** Of a connection. */
  #hasPermit = false;

  constructor(request: CallRequest, sending: Sending, limits: AccountLimits) {
    this.request = request;
    this.sending = sending;
    this.#limits = limits;
    this.isShort = request.longRunning !== true || sending.upgrade !== undefined;
  }

  protected abstract onWaiting(wait: QueuedWaiter): void;

  protected abstract onPermitted(): void;

  abstract onRefused(error: Error): void;

  /** Ends with `onPermitted` or `onRefused`, unless the wait is cancelled. */
  protected acquire(): void {
    const { account, longRunning } = this.request;
    const openings = longRunning ? this.#limits.longRunningLimiterOf(account) : undefined;
    if (openings === undefined) this.#acquireConnection();
    else this.#acquire(openings, true);
  }

  /** The response's head has arrived. */
  protected responded(): void {
    if (this.#hasPermit) this.#limiter?.onResponse?.();
  }

  /** @param closed whether the request's connection was closed: then the permit may be returned later */
  protected release(closed: boolean): void {
    if (!this.#hasPermit) return;
    this.#hasPermit = false;
    if (closed) this.#limiter?.releaseDelayed();
    else this.#limiter?.release();
  }

  onAcquired(): void {
    if (this.#isToBegin) {
      this.#limiter?.releaseDelayed();
      this.#acquireConnection();
    } else {
      this.#hasPermit = true;
      this.onPermitted();
    }
  }

  #acquireConnection(): void {
    const { account, method, target } = this.request;
    if (this.isShort) this.#acquire(this.#limits.limiterOf(account, method, target), false);
    else this.onPermitted();
  }

  #acquire(limiter: Limiter, isToBegin: boolean): void {
    this.#limiter = limiter;
    this.#isToBegin = isToBegin;
    if (limiter.tryAcquire()) {
      this.onAcquired();
      return;
    }
    const wait = limiter.enqueue(this, heldBytes(this.request, this.sending));
    if (wait === undefined) this.onRefused(limiter.queueFull());
    else this.onWaiting(wait);
  }
}
