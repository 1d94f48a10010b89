/**
 * Connections that are being opened, each for one request. Where that one leaves, the opening goes on for whoever comes next:
 * else people who ask and leave would cost the API server a TLS handshake each. So does Go's transport.
 */
import type { Socket } from 'node:net';
import { ListNode } from '../lib/linked-list.ts';
import type { Connector, Opening, Receiver } from './connector.ts';
import type { Errand } from './errand.ts';

export interface OpeningOwner {
  /** Who has waited longest for a connection, and waits no more. */
  nextWaiting(): Errand | undefined;
  /** This or the next is called once for each opening, with the errand that wants it by then. */
  onOpened(socket: Socket, errand: Errand | undefined): Receiver;
  onNotOpened(error: Error, errand: Errand | undefined): void;
}

export class Openings {
  readonly #connector: Connector;
  readonly #owner: OpeningOwner;
  readonly #all = new Set<PendingConnection>();
  /** Stands before the first that nobody wants. */
  readonly #spare = new ListNode();
  #closed = false;

  constructor(connector: Connector, owner: OpeningOwner) {
    this.#connector = connector;
    this.#owner = owner;
  }

  get size(): number {
    return this.#all.size;
  }

  /** The errand takes over an opening that nobody wants. @returns whether there was one */
  adopt(errand: Errand): boolean {
    const { next } = this.#spare;
    if (!(next instanceof PendingConnection)) return false;
    next.unlink();
    next.serve(errand);
    return true;
  }

  openFor(errand: Errand): void {
    const pending = new PendingConnection(this.#leave);
    pending.serve(errand);
    pending.opening = this.#connector((opened) => {
      this.#all.delete(pending);
      pending.unlink();
      const wanting = pending.errand;
      if (wanting !== undefined) wanting.pending = undefined;
      if (!(opened instanceof Error)) return this.#owner.onOpened(opened, wanting);
      this.#owner.onNotOpened(opened, wanting);
      return undefined;
    });
    this.#all.add(pending);
  }

  /** From now on, what nobody wants is given up. */
  close(error: Error): void {
    this.#closed = true;
    for (const pending of this.#all) if (pending.errand === undefined) pending.opening?.giveUp(error);
  }

  giveUp(error: Error): void {
    for (const { opening } of this.#all) opening?.giveUp(error);
  }

  readonly #leave = (pending: PendingConnection): void => {
    const next = this.#owner.nextWaiting();
    if (next !== undefined) pending.serve(next);
    else if (this.#closed) pending.opening?.giveUp(new Error('nobody wants the connection any more'));
    else pending.insertBefore(this.#spare);
  };
}

/** One of them. Who waits for it may leave it. */
export class PendingConnection extends ListNode {
  errand: Errand | undefined;
  opening: Opening | undefined;
  readonly #onLeft: (pending: PendingConnection) => void;

  constructor(onLeft: (pending: PendingConnection) => void) {
    super();
    this.#onLeft = onLeft;
  }

  serve(errand: Errand): void {
    this.errand = errand;
    errand.pending = this;
  }

  leave(): void {
    this.errand = undefined;
    this.#onLeft(this);
  }
}
