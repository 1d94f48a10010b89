/**
 * What is remembered of an HTTP/1 connection: who is at its other end, which answers it still owes, and for how long it has
 * owed none. Requests sent ahead wait until every answer before theirs has left, so that a client which takes none has one
 * made for it. Node tells only the answer on the wire that its client left; the others are told here.
 * RFC 9112 §9.3.2.
 */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../api/credentials.ts';
import { TimeoutQueue } from '../lib/timeout-queue.ts';
import { IdleGuard, type Kept } from './idle-guard.ts';
import type { ServeContext } from './serve-context.ts';
import { type Guarded, StallGuard } from './stall-guard.ts';

/** An answer that has not left yet. */
export interface Owed {
  readonly headersSent: boolean;
  /** Whether its request has arrived to its last byte. */
  readonly requestComplete: boolean;
  /** Every answer before it has left: it is served, where it only waited for that. */
  takeTurn(): void;
  /** The client has left, or the rest of its request cannot be read. */
  abandon(): void;
}

export class Http1Connection implements Guarded, Kept {
  readonly context: ServeContext;
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  /** Of all its answers: their bytes leave one behind the other. */
  readonly guard: StallGuard;
  readonly #idle: IdleGuard;
  readonly #socket: Duplex;
  /** The one on the wire. */
  #first: Owed | undefined;
  /** In the order of their requests. */
  readonly #behind: Owed[] = [];
  #onSettled: (() => void) | undefined;
  /** True once its bytes could be read in two ways, or were no HTTP: no request behind those is served. */
  refused = false;
  /** Requests that came behind those. */
  ignored = 0;
  /** An answer has left while the rest of its request is still to come: there is none to give any more. */
  answeredEarly = false;

  /** @param idleQueue of all connections of the listener */
  constructor(socket: Duplex, context: ServeContext, idleQueue: TimeoutQueue) {
    const { certificateOf, clock, timeouts } = context;
    this.context = context;
    this.#socket = socket;
    this.clientCertificate = certificateOf(socket);
    this.peerAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    const queue = new TimeoutQueue(clock, timeouts.stall);
    this.guard = new StallGuard(queue, this);
    this.#idle = new IdleGuard(idleQueue, this);
    socket.once('close', () => {
      queue.stop();
      this.#idle.stop();
      this.abandon();
    });
  }

  get unsent(): number {
    return this.#socket.writableLength;
  }

  get sent(): number {
    return this.#socket instanceof Socket ? this.#socket.bytesWritten - this.#socket.writableLength : 0;
  }

  onStall(): void {
    this.context.logger.debug({}, 'a client took no byte of its answer: the connection is broken off');
    this.#socket.destroy();
  }

  get received(): number {
    return this.#socket instanceof Socket ? this.#socket.bytesRead : 0;
  }

  onIdle(): void {
    this.#socket.destroy();
  }

  /** How many answers it owes. */
  get pending(): number {
    return this.#first === undefined ? 0 : 1 + this.#behind.length;
  }

  /** The answer owed to the last request, where that has not arrived to its last byte. */
  get unfinished(): Owed | undefined {
    const last = this.#behind.at(-1) ?? this.#first;
    return last?.requestComplete ? undefined : last;
  }

  owe(answer: Owed): void {
    this.#idle.end();
    if (this.#first === undefined) this.#first = answer;
    else this.#behind.push(answer);
  }

  /** The answer has left. */
  settle(answer: Owed): void {
    if (this.#first !== answer) {
      const at = this.#behind.indexOf(answer);
      if (at !== -1) this.#behind.splice(at, 1);
      return;
    }
    this.#first = this.#behind.shift();
    if (this.#first !== undefined) this.#first.takeTurn();
    else if (this.#onSettled !== undefined) this.#onSettled();
    else if (!this.#socket.destroyed) this.#idle.begin();
  }

  /** Runs it once no answer is owed any more, at once where none is. */
  onSettled(action: () => void): void {
    if (this.#first === undefined) action();
    else this.#onSettled = action;
  }

  /** Whether it is owed, and answers to earlier requests are so too. */
  waits(answer: Owed): boolean {
    return this.#first !== answer;
  }

  abandon(): void {
    this.#first?.abandon();
    for (const answer of this.#behind) answer.abandon();
  }

  /** Whoever serves a request whose body breaks off is told by `signal`; this is for the log alone. */
  readonly onRequestError = (error: Error): void => {
    this.context.logger.debug({ error }, 'a request broke off');
  };
}

/** The connection of each socket, made when it is first asked for: after its handshake. */
export function createHttp1Connections(context: ServeContext): (socket: Duplex) => Http1Connection {
  const connections = new WeakMap<Duplex, Http1Connection>();
  const idleQueue = new TimeoutQueue(context.clock, context.timeouts.idle);
  return (socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const connection = new Http1Connection(socket, context, idleQueue);
    connections.set(socket, connection);
    return connection;
  };
}
