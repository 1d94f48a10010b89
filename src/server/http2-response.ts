/**
 * Answers over HTTP/2: one stream each.
 * RFC 9113 §8.
 */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { HeaderList } from '../lib/header-list.ts';
import { memoize } from '../lib/memoize.ts';
import type { ResponseWriter } from '../pipeline/ports.ts';
import { AnswerState } from './answer-state.ts';
import { endInPieces, type Pieces } from './end-in-pieces.ts';
import type { Http2Peer } from './http2-peer.ts';
import { checkedFields } from './response-head.ts';
import { type Guarded, StallGuard } from './stall-guard.ts';
import { whenTaken } from './when-taken.ts';

const { NGHTTP2_NO_ERROR } = constants;

export class Http2Response extends AnswerState implements ResponseWriter, Pieces, Guarded {
  protected readonly stream: ServerHttp2Stream;
  protected readonly peer: Http2Peer;
  readonly #guard: StallGuard;
  #bodiless: boolean;
  #written = 0;

  constructor(stream: ServerHttp2Stream, method: string, peer: Http2Peer) {
    const { open, draining, logger } = peer.context;
    super(open, draining.aborted);
    this.stream = stream;
    this.peer = peer;
    this.#bodiless = method === 'HEAD';
    this.#guard = new StallGuard(peer.stallQueue, this);
    peer.watch.begun(stream);
    // 'on', though most come once: Node tells every stream of each listener that is taken off.
    stream.on('error', (error) => logger.debug({ error }, 'an HTTP/2 stream broke'));
    // A reset with NO_ERROR closes a stream only when its last write is done, which waits for a window nobody opens.
    stream.on('aborted', () => {
      this.abandon();
      stream.destroy();
      peer.watch.reset();
    });
    stream.on('close', () => {
      this.#guard.stop();
      this.abandon();
      peer.watch.closed(stream);
    });
    // What the client still uploads nobody reads: it is told to stop, after the answer (RFC 9113 §8.1).
    if (!stream.endAfterHeaders)
      stream.on('finish', () =>
        setImmediate(() => {
          if (!stream.readableEnded && !stream.closed) stream.close(NGHTTP2_NO_ERROR);
        }),
      );
  }

  get unsent(): number {
    return this.stream.writableLength;
  }

  get sent(): number {
    return this.#written - this.stream.writableLength;
  }

  onStall(): void {
    this.peer.context.logger.debug({}, 'a client took no byte of its answer: the stream is broken off');
    this.abandon();
    this.stream.destroy(new Error('the client took no byte of the answer'));
  }

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  override get closed(): boolean {
    return super.closed || this.stream.destroyed;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const fields = fieldsOf(status, checkedFields(status, headers));
    // Node itself ends the stream behind such a head.
    if (status === 204 || status === 205 || status === 304) this.#bodiless = true;
    this.stream.respond(fields);
  }

  write(chunk: Uint8Array, onTaken?: () => void): boolean {
    return this.closed || this.#bodiless || this.writePiece(chunk, onTaken);
  }

  onDrain(callback: () => void): void {
    this.stream.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.complete();
    if (!this.#bodiless) endInPieces(chunk, this);
  }

  writePiece(piece: Uint8Array, onTaken?: () => void): boolean {
    this.#written += piece.length;
    const room = this.stream.write(piece, whenTaken(onTaken));
    this.#guard.wrote();
    return room;
  }

  endWith(last: Uint8Array | undefined): void {
    this.#written += last?.length ?? 0;
    this.stream.end(last);
    this.#guard.wrote();
  }

  destroy(): void {
    this.complete();
    // Not `close`, which would say END_STREAM first and make half an answer look whole.
    this.stream.destroy(new Error('the answer was broken off'));
  }
}

const lowerCase = memoize((name: string) => name.toLowerCase());

/** Names in lower case, repeats as lists (RFC 9113 §8.2). */
function fieldsOf(status: number, headers: HeaderList): OutgoingHttpHeaders {
  // Without a prototype: a field may have any name.
  const fields: OutgoingHttpHeaders = Object.create(null);
  fields[':status'] = status;
  for (const [name, value] of headers) {
    const key = lowerCase(name);
    const before = fields[key];
    if (before === undefined) fields[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else fields[key] = [String(before), value];
  }
  return fields;
}
