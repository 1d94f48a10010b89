/**
 * The permits of one call: a short request or an upgrade needs one as long as it has a connection, and a
 * write that the admission webhook reviews two more until the API server responds.
 */
import type { Semaphore } from '../limits/keyed-semaphore.ts';
import type { AccountLimits } from './account-limits.ts';
import { type CallRequest, heldBytes, type Sending } from './call-request.ts';
import type { ReviewedWrite } from './reviewed-writes.ts';

/** A base class, since each object counts in a request that waits for nothing. */
export abstract class PermittedCall {
  protected readonly request: CallRequest;
  protected readonly sending: Sending;
  /** Whether it has a permit as long as it has a connection; then its time is limited, too. */
  protected readonly isShort: boolean;
  readonly #limits: AccountLimits;
  /** Each is undefined without a permit. The first two are held as long as the connection. */
  #connections: Semaphore | undefined;
  #part: Semaphore | undefined;
  #turnOfTenant: Semaphore | undefined;
  #turnOfURL: Semaphore | undefined;
  #reviewed: ReviewedWrite | undefined;

  constructor(request: CallRequest, sending: Sending, limits: AccountLimits) {
    this.request = request;
    this.sending = sending;
    this.#limits = limits;
    this.isShort = request.longRunning !== true || sending.upgrade !== undefined;
  }

  protected abstract onWaiting(wait: { cancel(): void }): void;

  protected abstract onPermitted(): void;

  protected abstract onRefused(error: unknown): void;

  /** Ends with `onPermitted` or `onRefused`, unless the wait is cancelled. */
  protected acquire(): void {
    const { account, method, target, longRunning = false } = this.request;
    try {
      this.#limits.admit(account, longRunning);
      if (this.isShort) {
        const reviewed = this.#limits.reviewedWrites?.of(account, method, target);
        const isPart = this.#limits.partOf(account) !== undefined;
        if (reviewed !== undefined || isPart || !this.#tryAcquire()) {
          void this.#wait(reviewed);
          return;
        }
      }
    } catch (error) {
      this.onRefused(error);
      return;
    }
    this.onPermitted();
  }

  /** The response's head has arrived; its body may take long, if the client reads it slowly. */
  protected responded(): void {
    this.#turnOfURL?.release();
    this.#turnOfURL = undefined;
    this.#turnOfTenant?.release();
    this.#turnOfTenant = undefined;
  }

  /** @param closed whether the request caused its connection to be closed */
  protected release(closed: boolean): void {
    if (closed && this.#turnOfURL !== undefined) this.#reviewed?.cancelled();
    this.responded();
    if (this.#connections !== undefined && closed) this.#limits.closed(this.request.account);
    this.#connections?.release();
    this.#connections = undefined;
    this.#part?.release();
    this.#part = undefined;
  }

  #tryAcquire(): boolean {
    const connections = this.#limits.connectionsOf(this.request.account);
    if (!connections.tryAcquire()) return false;
    this.#connections = connections;
    return true;
  }

  async #wait(reviewed: ReviewedWrite | undefined): Promise<void> {
    const { account } = this.request;
    const waiting = new AbortController();
    const { signal } = waiting;
    const size = this.#limits.queuedSize(heldBytes(this.request, this.sending));
    const permitOf: PermitOf = async (permits) =>
      (await permits?.acquire(signal, size)) ? permits : undefined;
    this.#reviewed = reviewed;
    this.onWaiting({ cancel: () => waiting.abort() });
    try {
      this.#turnOfTenant = await permitOf(reviewed?.tenant());
      this.#part = await permitOf(this.#limits.partOf(account));
      while (!signal.aborted && !(await this.#acquireShared(reviewed, permitOf)));
    } catch (error) {
      this.release(false);
      this.onRefused(error);
      return;
    }
    // It may have been cancelled after it was granted a permit.
    if (signal.aborted) this.release(false);
    else this.onPermitted();
  }

  /**
   * Other tenants wait for the turn of the URL and for a connection, so it holds neither while it waits for
   * the other.
   *
   * @returns false if both have to be waited for again
   */
  async #acquireShared(reviewed: ReviewedWrite | undefined, permitOf: PermitOf): Promise<boolean> {
    this.#turnOfURL = await permitOf(reviewed?.url());
    if (this.#tryAcquire()) return true;
    this.#turnOfURL?.release();
    this.#turnOfURL = undefined;
    this.#connections = await permitOf(this.#limits.connectionsOf(this.request.account));
    const turn = reviewed?.url();
    if (turn === undefined) return true;
    if (turn.tryAcquire()) {
      this.#turnOfURL = turn;
      return true;
    }
    this.#connections?.release();
    this.#connections = undefined;
    return false;
  }
}

/** Waits. @returns undefined without a permit: there is none to wait for, or the wait was cancelled */
type PermitOf = (permits: Semaphore | undefined) => Promise<Semaphore | undefined>;
