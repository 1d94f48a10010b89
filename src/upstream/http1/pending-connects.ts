/**
 * Connections that are being opened, each for one request. If that request is cancelled, the attempt
 * continues for the next one, as in Go's transport: otherwise clients that send and cancel would cost the
 * server a TLS handshake each.
 */
import type { Socket } from 'node:net';
import { ListNode } from '../../lib/linked-list.ts';
import type { Connector, Receiver } from './connector.ts';
import { Http1Error } from './errors.ts';
import { type PendingRequest, UNASSIGNED } from './pending-request.ts';

export interface PendingConnectsOwner {
  /** Removes and returns the request that has waited longest for a connection. */
  nextQueued(): PendingRequest | undefined;
  /**
   * This or `onConnectFailed` is called once for each attempt.
   *
   * @param request undefined if none waits for the connection
   */
  onConnected(socket: Socket, request: PendingRequest | undefined): Receiver;
  onConnectFailed(error: Error, request: PendingRequest | undefined): void;
}

export class PendingConnects {
  readonly #connector: Connector;
  readonly #owner: PendingConnectsOwner;
  readonly #all = new Set<PendingConnect>();
  /** Head of the list of attempts that no request waits for. */
  readonly #spare = new ListNode();
  #closed = false;

  constructor(connector: Connector, owner: PendingConnectsOwner) {
    this.#connector = connector;
    this.#owner = owner;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Assigns an attempt to the request that no other request waits for. @returns whether there was one */
  assignSpare(request: PendingRequest): boolean {
    const { next } = this.#spare;
    if (!(next instanceof PendingConnect)) return false;
    next.unlink();
    next.assign(request);
    return true;
  }

  start(request: PendingRequest): void {
    const pending = new PendingConnect(this.#connector, this.#onResult, this.#onReleased);
    pending.assign(request);
    this.#all.add(pending);
  }

  /** Cancels attempts that no request waits for, now and later. */
  close(error: Error): void {
    this.#closed = true;
    for (const pending of this.#all) if (pending.request === undefined) pending.cancel(error);
  }

  cancelAll(error: Error): void {
    for (const pending of this.#all) pending.cancel(error);
  }

  readonly #onResult = (pending: PendingConnect, result: Socket | Error): Receiver | undefined => {
    this.#all.delete(pending);
    pending.unlink();
    const { request } = pending;
    if (request !== undefined) request.stage = UNASSIGNED;
    if (!(result instanceof Error)) return this.#owner.onConnected(result, request);
    this.#owner.onConnectFailed(result, request);
    return undefined;
  };

  readonly #onReleased = (pending: PendingConnect): void => {
    const next = this.#owner.nextQueued();
    if (next !== undefined) pending.assign(next);
    else if (this.#closed)
      pending.cancel(new Http1Error('POOL_CLOSED', 'no request waits for the connection'));
    else pending.insertBefore(this.#spare);
  };
}

class PendingConnect extends ListNode {
  /** The one that waits for it. */
  request: PendingRequest | undefined;
  readonly cancel: (error: Error) => void;
  readonly #onReleased: (pending: PendingConnect) => void;

  constructor(
    connector: Connector,
    onResult: (pending: PendingConnect, result: Socket | Error) => Receiver | undefined,
    onReleased: (pending: PendingConnect) => void,
  ) {
    super();
    this.#onReleased = onReleased;
    this.cancel = connector((result) => onResult(this, result)).cancel;
  }

  assign(request: PendingRequest): void {
    this.request = request;
    request.stage = { phase: 'connecting', connect: this };
  }

  /** The request was cancelled. */
  release(): void {
    this.request = undefined;
    this.#onReleased(this);
  }
}
