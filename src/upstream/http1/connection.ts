/**
 * One connection to the server, for one request at a time. It is reused only if the request was sent and its
 * response received completely and the server allows it. RFC 9112 §9.
 */
import type { Socket } from 'node:net';
import process from 'node:process';
import type { Readable } from 'node:stream';
import type { HeaderField } from '../../lib/header-list.ts';
import type { BorrowedChunk } from './borrowed-chunk.ts';
import type { Receiver } from './connector.ts';
import { Http1Error, isConnectionLoss } from './errors.ts';
import type { ResponseHead } from './response-head.ts';
import { ResponseParser, type ResponseParts } from './response-parser.ts';
import { BodyWriter, type RequestFraming } from './serializer.ts';

export interface WireRequest {
  readonly method: string;
  /** The head as a `HeadSerializer` wrote it. */
  readonly head: string;
  readonly framing: RequestFraming;
  /** Undefined if the framing is `none`. */
  readonly body?: Buffer | Readable | undefined;
}

/** Receives a response. `onEnd` or `onFailure` is the last call. If a method throws, the request fails. */
export interface ResponseHandler {
  /** The last byte of the request was handed to the socket. */
  onSent(): void;
  onHead(status: number, fields: HeaderField[]): void;
  onData(chunk: BorrowedChunk): void;
  onEnd(): void;
  /**
   * @param error an Http1Error, an error of the socket or of TLS, or one that the handler has thrown; a
   *   connection loss only if no byte of a response has arrived
   */
  onFailure(error: Error): void;
}

export interface ConnectionOwner {
  /**
   * The connection can take another request.
   *
   * @param keepAliveTimeout seconds for which the server keeps it open, if it says so
   */
  onIdle(connection: Connection, keepAliveTimeout: number | undefined): void;
  onClosed(connection: Connection): void;
  /** A handler's `onFailure` has thrown. */
  onHandlerError(error: unknown): void;
}

/** Reports a failure; an error in the handler itself does not disturb other requests. */
export function reportFailure(
  handler: ResponseHandler,
  error: Error,
  owner: Pick<ConnectionOwner, 'onHandlerError'>,
): void {
  try {
    handler.onFailure(error);
  } catch (handlerError) {
    owner.onHandlerError(handlerError);
  }
}

interface Active {
  readonly phase: 'active';
  readonly handler: ResponseHandler;
  /** Writes a streamed body. */
  writer: BodyWriter | undefined;
  sent: boolean;
  responding: boolean;
}

type State = { readonly phase: 'idle' } | Active | { readonly phase: 'closed' };

const IDLE: State = { phase: 'idle' };
const CLOSED: State = { phase: 'closed' };

export class Connection implements ResponseParts, Receiver {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #state: State = IDLE;

  /** @param socket connected */
  constructor(socket: Socket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#parser = new ResponseParser(this);
    socket
      .on('end', () => this.#onSocketEnd())
      .on('error', (error) => this.fail(error))
      .on('close', () => {
        this.fail(new Http1Error('CONNECTION_LOST', 'the connection was closed'));
        owner.onClosed(this);
      });
  }

  get closed(): boolean {
    return this.#state.phase === 'closed';
  }

  /** Whether the connection is working on this handler's request. */
  serves(handler: ResponseHandler): boolean {
    return this.#state.phase === 'active' && this.#state.handler === handler;
  }

  /** Only while idle. */
  send(request: WireRequest, handler: ResponseHandler): void {
    const { method, head, framing, body } = request;
    const active: Active = {
      phase: 'active',
      handler,
      writer: undefined,
      sent: false,
      responding: false,
    };
    this.#state = active;
    this.#parser.expect(method);
    // One byte more than declared would be another request.
    if (!fitsFraming(framing, body)) {
      this.fail(new Http1Error('REQUEST_INVALID', 'the body is not as long as the head declares'));
      return;
    }
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
      this.#onSent();
      return;
    }
    // Head and body in one packet if the body is complete.
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    if (Buffer.isBuffer(body)) {
      this.#socket.write(body);
      this.#socket.uncork();
      this.#onSent();
      return;
    }
    active.writer = new BodyWriter(this.#socket, body, {
      length: typeof framing === 'number' ? framing : undefined,
      onWritten: () => this.#onSent(),
      onError: (error) => this.fail(error),
    });
    process.nextTick(() => this.#socket.uncork());
  }

  receive(bytes: Buffer): void {
    if (this.#state.phase === 'active') this.#state.responding = true;
    try {
      this.#parser.read(bytes);
    } catch (error) {
      this.#failWith(error);
    }
  }

  /** Reads no more from the socket; bytes that have been read are still delivered. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    if (!this.closed) this.#socket.resume();
  }

  /** Closes the connection without a call to the handler. */
  abandon(): void {
    const state = this.#state;
    if (state.phase === 'closed') return;
    this.#state = CLOSED;
    this.#parser.close();
    if (state.phase === 'active') state.writer?.stop();
    this.#socket.destroy();
  }

  /** Closes the connection and reports the error to the handler. */
  fail(error: Error): void {
    const state = this.#state;
    this.abandon();
    if (state.phase !== 'active') return;
    const isBroken = state.responding && isConnectionLoss(error);
    const reported = isBroken
      ? new Http1Error('RESPONSE_INCOMPLETE', 'it broke off', { cause: error })
      : error;
    reportFailure(state.handler, reported, this.#owner);
  }

  onHead({ status, fields }: ResponseHead): void {
    if (this.#state.phase === 'active') this.#state.handler.onHead(status, fields);
  }

  onData(chunk: BorrowedChunk): void {
    if (this.#state.phase === 'active') this.#state.handler.onData(chunk);
  }

  onEnd({ persistent, keepAliveTimeout }: ResponseHead): void {
    const state = this.#state;
    if (state.phase !== 'active') return;
    state.handler.onEnd();
    if (this.closed) return;
    // After an early response the rest of the request cannot be taken back.
    if (!state.sent || !persistent) {
      this.abandon();
      return;
    }
    this.#state = IDLE;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#owner.onIdle(this, keepAliveTimeout);
  }

  #onSent(): void {
    const state = this.#state;
    if (state.phase !== 'active') return;
    state.sent = true;
    try {
      state.handler.onSent();
    } catch (error) {
      this.#failWith(error);
    }
  }

  #onSocketEnd(): void {
    try {
      this.#parser.finish();
      this.fail(new Http1Error('CONNECTION_LOST', 'the server ended the connection'));
    } catch (error) {
      this.#failWith(error);
    }
  }

  #failWith(error: unknown): void {
    this.fail(error instanceof Error ? error : new Error('the response handler failed', { cause: error }));
  }
}

function fitsFraming(framing: RequestFraming, body: WireRequest['body']): boolean {
  if (body === undefined) return framing === 'none';
  return Buffer.isBuffer(body) ? body.length === framing : framing !== 'none';
}
