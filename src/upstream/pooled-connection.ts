/**
 * One connection to the API server: one request at a time, and its answer. It is used again only where request and
 * answer both came to their end in good order and the server has nothing against it.
 * RFC 9112 §9.
 */
import type { Socket } from 'node:net';
import process from 'node:process';
import type { Readable } from 'node:stream';
import type { HeaderField } from '../lib/header-list.ts';
import type { AnswerHead } from './answer-head.ts';
import { type AnswerParts, AnswerReader } from './answer-reader.ts';
import type { Arrived } from './arrived.ts';
import type { Receiver } from './connector.ts';
import { unspeakable } from './failure.ts';
import type { Framing } from './outgoing-headers.ts';
import { RequestContent } from './request-content.ts';

export interface WireRequest {
  readonly method: string;
  /** As `requestHead` made it. */
  readonly head: string;
  readonly framing: Framing;
  /** Undefined where the framing is `none`. */
  readonly body?: Buffer | Readable | undefined;
}

/** Who wants the answer. After `onEnd` or `onFailure` nothing is told. A throw is a failure. */
export interface AnswerHandler {
  /** The request's last byte was handed over. */
  onSent(): void;
  /** The first bytes of an answer, of which nothing is known yet. */
  onAnswering(): void;
  onHead(status: number, fields: HeaderField[]): void;
  onData(piece: Arrived): void;
  onEnd(): void;
  onFailure(error: Error): void;
}

export interface ConnectionOwner {
  /**
   * Another request may be sent.
   *
   * @param keptFor seconds for which the server promises to keep it
   */
  onFree(connection: PooledConnection, keptFor: number | undefined): void;
  onGone(connection: PooledConnection): void;
  /** A handler threw where it was told of its failure: there is nobody else of its own to tell. */
  onFault(fault: unknown): void;
}

/** Whoever else has a request under way does not suffer from a handler that throws even here. */
export function tellFailure(
  handler: AnswerHandler,
  error: Error,
  owner: Pick<ConnectionOwner, 'onFault'>,
): void {
  try {
    handler.onFailure(error);
  } catch (fault) {
    owner.onFault(fault);
  }
}

/** The connection ended before its answer did. */
class ConnectionLost extends Error {
  readonly code = 'CONNECTION_LOST';
}

export class PooledConnection implements AnswerParts, Receiver {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader: AnswerReader;
  #handler: AnswerHandler | undefined;
  #content: RequestContent | undefined;
  #head: AnswerHead | undefined;
  #sent = false;
  #answering = false;
  #closed = false;

  /** @param socket connected */
  constructor(socket: Socket, owner: ConnectionOwner, maxHeadBytes: number) {
    this.#socket = socket;
    this.#owner = owner;
    this.#reader = new AnswerReader(this, maxHeadBytes);
    socket
      .on('end', () => this.#ended())
      .on('error', (error) => this.fail(error))
      .on('close', () => {
        this.fail(new ConnectionLost('the connection was closed'));
        owner.onGone(this);
      });
  }

  get closed(): boolean {
    return this.#closed;
  }

  serves(handler: AnswerHandler): boolean {
    return this.#handler === handler;
  }

  send(request: WireRequest, handler: AnswerHandler): void {
    const { method, head, framing, body } = request;
    this.#handler = handler;
    this.#sent = false;
    this.#answering = false;
    this.#reader.expect(method);
    // One byte more than promised would be another request.
    if (!isAsPromised(framing, body)) {
      this.fail(unspeakable('content that is not as long as its head says'));
      return;
    }
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
      this.#onSent();
      return;
    }
    // Head and content in one packet where the content is at hand.
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    if (Buffer.isBuffer(body)) {
      this.#socket.write(body);
      this.#socket.uncork();
      this.#onSent();
      return;
    }
    const length = typeof framing === 'number' ? framing : undefined;
    const onFault = (fault: Error): void => this.fail(fault);
    this.#content = new RequestContent(this.#socket, body, length, () => this.#onSent(), onFault);
    process.nextTick(() => this.#socket.uncork());
  }

  receive(bytes: Buffer): void {
    try {
      if (!this.#answering) this.#handler?.onAnswering();
      this.#answering = true;
      this.#reader.read(bytes);
    } catch (error) {
      this.#failWith(error);
    }
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#closed) this.#socket.resume();
  }

  /** Nobody wants the answer any more. */
  abandon(): void {
    this.#handler = undefined;
    this.#close();
  }

  /**
   * Another handler takes the rest of the answer.
   *
   * @returns whether the request was sent as a whole, and its answer can still come
   */
  handOver(make: (connection: PooledConnection) => AnswerHandler): boolean {
    if (!this.#sent || this.#closed) return false;
    this.#handler = make(this);
    this.resume();
    return true;
  }

  /** Whoever waits for an answer is told. */
  fail(error: Error): void {
    const handler = this.#handler;
    this.abandon();
    if (handler !== undefined) tellFailure(handler, error, this.#owner);
  }

  onHead(head: AnswerHead): void {
    this.#head = head;
    this.#handler?.onHead(head.status, head.fields);
  }

  onData(piece: Arrived): void {
    this.#handler?.onData(piece);
  }

  onEnd(): void {
    const head = this.#head;
    this.#head = undefined;
    this.#handler?.onEnd();
    this.#handler = undefined;
    if (this.#closed) return;
    // An answer that came before its request was whole: what is left of the request cannot be taken back.
    if (!this.#sent || !head?.persistent) {
      this.#close();
      return;
    }
    this.#content = undefined;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#owner.onFree(this, head.keptFor);
  }

  #onSent(): void {
    this.#sent = true;
    try {
      this.#handler?.onSent();
    } catch (error) {
      this.#failWith(error);
    }
  }

  #ended(): void {
    try {
      this.#reader.finish();
      this.fail(new ConnectionLost('the connection has ended'));
    } catch (error) {
      this.#failWith(error);
    }
  }

  #failWith(error: unknown): void {
    this.fail(error instanceof Error ? error : new Error('an answer could not be taken', { cause: error }));
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader.close();
    this.#content?.stop();
    this.#socket.destroy();
  }
}

function isAsPromised(framing: Framing, body: WireRequest['body']): boolean {
  if (body === undefined) return framing === 'none';
  return Buffer.isBuffer(body) ? body.length === framing : framing !== 'none';
}
