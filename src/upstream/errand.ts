/**
 * One request, from when it is given to the pool of connections: waiting for a connection, having one made, about to
 * leave, or under way. Whoever wants the answer steers it by this.
 */
import type { Kept } from './kept-connections.ts';
import type { AnswerHandler, PooledConnection, WireRequest } from './pooled-connection.ts';

export class Errand {
  readonly request: WireRequest;
  readonly handler: AnswerHandler;
  /** Once there was no connection for it. */
  wait: { stop(): void; goOn(): void } | undefined;
  /** While it is being opened for this errand. */
  pending: { leave(): void } | undefined;
  /** While it is about to leave over it. */
  kept: Kept | undefined;
  /** Given that, where it does not leave after all. */
  giveBack: ((kept: Kept) => void) | undefined;
  /** Once it was sent. */
  connection: PooledConnection | undefined;
  sent = false;
  abandoned = false;

  constructor(request: WireRequest, handler: AnswerHandler) {
    this.request = request;
    this.handler = handler;
  }

  /**
   * The request is cancelled; its handler is not called from now on.
   *
   * @returns whether a connection was closed with it
   */
  abandon(): boolean {
    this.abandoned = true;
    this.wait?.stop();
    const { pending, kept } = this;
    this.pending = undefined;
    this.kept = undefined;
    pending?.leave();
    if (kept !== undefined) this.giveBack?.(kept);
    const serving = this.#serving;
    serving?.abandon();
    return serving !== undefined;
  }

  /**
   * Another handler takes the rest of the answer; this one is not called from now on.
   *
   * @returns whether there is one: no other than a request that was sent as a whole has an answer
   */
  handOver(make: (connection: PooledConnection) => AnswerHandler): boolean {
    return this.#serving?.handOver(make) ?? false;
  }

  /** The answer is to wait. What has arrived already is still told. */
  pause(): void {
    this.#serving?.pause();
  }

  resume(): void {
    this.#serving?.resume();
  }

  /** The connection, while it is at this errand: before and afterwards it is somebody else's. */
  get #serving(): PooledConnection | undefined {
    return this.sent && this.connection?.serves(this.handler) ? this.connection : undefined;
  }
}
