/**
 * One request, from when it is given to the pool of connections: waiting for a connection, having one made, about to
 * leave, or under way. Whoever wants the answer steers it by this.
 */
import type { Opening } from './connector.ts';
import type { AnswerHandler, PooledConnection, WireRequest } from './pooled-connection.ts';

export class Errand {
  readonly request: WireRequest;
  readonly handler: AnswerHandler;
  /** Once there was no connection for it. */
  wait: { stop(): void; goOn(): void } | undefined;
  /** While it is being opened for this errand. */
  opening: Opening | undefined;
  /** Once there is one for it. */
  connection: PooledConnection | undefined;
  sent = false;
  abandoned = false;

  constructor(request: WireRequest, handler: AnswerHandler) {
    this.request = request;
    this.handler = handler;
  }

  /** Nobody wants the answer any more; nothing is told from now on. */
  abandon(): void {
    this.abandoned = true;
    this.wait?.stop();
    this.opening?.giveUp(new Error('nobody wants the connection any more'));
    this.#serving?.abandon();
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
