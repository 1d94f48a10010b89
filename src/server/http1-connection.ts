/**
 * What is remembered of an HTTP/1 connection: who is at its other end and which answers it still owes. Requests sent
 * ahead wait until every answer before theirs has left, so that a client which takes none has one made for it. Node
 * tells only the answer on the wire that its client left; the others are told here.
 * RFC 9112 §9.3.2.
 */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientCertificate } from '../api/client-certificate.ts';
import type { AnswerState } from './answer-state.ts';
import type { ServeContext } from './serve-context.ts';
import { StallGuard } from './stall-guard.ts';

interface Owed {
  readonly state: AnswerState;
  readonly response: ServerResponse;
  /** Serves it; where it waits for its turn. */
  begin: (() => void) | undefined;
}

type ConnectionContext = Pick<ServeContext, 'certificateOf' | 'clock' | 'timeouts' | 'logger'>;

export class Http1Connection {
  readonly peerAddress: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  /** Of all its answers: their bytes leave one behind the other. */
  readonly guard: StallGuard;
  /** In the order of their requests: the first is the one on the wire. */
  readonly #owed: Owed[] = [];
  /** True once its bytes could be read in two ways, or were no HTTP: nothing more is served on it. */
  refused = false;

  constructor(socket: Duplex, { certificateOf, clock, timeouts, logger }: ConnectionContext) {
    this.clientCertificate = certificateOf(socket);
    this.peerAddress = socket instanceof Socket ? socket.remoteAddress : undefined;
    this.guard = new StallGuard({
      clock,
      patience: timeouts.stall,
      unsent: () => socket.writableLength,
      sent: () => (socket instanceof Socket ? socket.bytesWritten - socket.writableLength : 0),
      onStall: () => {
        logger.debug({}, 'a client took no byte of its answer: the connection is broken off');
        socket.destroy();
      },
    });
    socket.once('close', () => {
      this.guard.stop();
      this.abandon();
    });
  }

  get pending(): number {
    return this.#owed.length;
  }

  /** Whether bytes of an unfinished answer are on the wire already. */
  get midAnswer(): boolean {
    return this.#owed[0]?.response.headersSent ?? false;
  }

  owe(state: AnswerState, response: ServerResponse): void {
    const owed: Owed = { state, response, begin: undefined };
    this.#owed.push(owed);
    response.on('finish', () => {
      if (this.#owed[0] === owed) this.#owed.shift();
      else this.#owed.splice(this.#owed.indexOf(owed), 1);
      this.#beginNext();
    });
  }

  /** Whether answers to earlier requests are still owed. */
  waits(state: AnswerState): boolean {
    return this.#owed[0]?.state !== state;
  }

  /**
   * @param begin called once: now, or when the answers before have left; never where the client leaves first
   */
  serveInTurn(state: AnswerState, begin: () => void): void {
    const owed = this.#owed.find((each) => each.state === state);
    if (owed === undefined) return;
    owed.begin = begin;
    if (owed === this.#owed[0]) this.#beginNext();
  }

  #beginNext(): void {
    const next = this.#owed[0];
    const begin = next?.begin;
    if (next === undefined || begin === undefined || next.state.closed) return;
    next.begin = undefined;
    begin();
  }

  abandon(): void {
    for (const { state } of this.#owed) state.abandon();
  }
}

/** The connection of each socket, made when it is first asked for: after its handshake. */
export function createHttp1Connections(context: ConnectionContext): (socket: Duplex) => Http1Connection {
  const connections = new WeakMap<Duplex, Http1Connection>();
  return (socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const connection = new Http1Connection(socket, context);
    connections.set(socket, connection);
    return connection;
  };
}
