/**
 * Answers over HTTP/2: one stream each.
 * RFC 9113 §8.
 */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { HeaderList } from '../lib/header-list.ts';
import type { ResponseWriter } from '../pipeline/exchange.ts';
import type { AnswerState } from './answer-state.ts';
import { endInPieces } from './end-in-pieces.ts';
import { checkedFields } from './response-head.ts';
import type { ServeContext } from './serve-context.ts';
import { StallGuard } from './stall-guard.ts';

const { NGHTTP2_NO_ERROR } = constants;
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export class Http2Response implements ResponseWriter {
  readonly #stream: ServerHttp2Stream;
  readonly #state: AnswerState;
  readonly #guard: StallGuard;
  #bodiless: boolean;
  #written = 0;

  constructor(
    stream: ServerHttp2Stream,
    state: AnswerState,
    method: string,
    { clock, timeouts, logger }: Pick<ServeContext, 'clock' | 'timeouts' | 'logger'>,
  ) {
    this.#stream = stream;
    this.#state = state;
    this.#bodiless = method === 'HEAD';
    this.#guard = new StallGuard({
      clock,
      patience: timeouts.stall,
      unsent: () => stream.writableLength,
      sent: () => this.#written - stream.writableLength,
      onStall: () => {
        logger.debug({}, 'a client took no byte of its answer: the stream is broken off');
        state.abandon();
        stream.destroy(new Error('the client took no byte of the answer'));
      },
    });
    stream.once('close', () => this.#guard.stop());
    // What the client still uploads nobody reads: it is told to stop, after the answer (RFC 9113 §8.1).
    stream.once('finish', () =>
      setImmediate(() => {
        if (!stream.readableEnded && !stream.closed) stream.close(NGHTTP2_NO_ERROR);
      }),
    );
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  get closed(): boolean {
    return this.#state.closed || this.#stream.destroyed;
  }

  writeHead(status: number, headers: HeaderList): void {
    if (this.closed) return;
    const fields = fieldsOf(status, checkedFields(status, headers));
    // Node itself ends the stream behind such a head.
    if (WITHOUT_BODY.has(status)) this.#bodiless = true;
    this.#stream.respond(fields);
  }

  write(chunk: Uint8Array): boolean {
    return this.closed || this.#bodiless || this.#send(chunk);
  }

  #send(chunk: Uint8Array): boolean {
    this.#written += chunk.length;
    const room = this.#stream.write(chunk);
    this.#guard.wrote();
    return room;
  }

  onDrain(callback: () => void): void {
    this.#stream.once('drain', callback);
  }

  end(chunk?: Uint8Array | string): void {
    if (this.closed) return;
    this.#state.complete();
    if (this.#bodiless) return;
    endInPieces(chunk, {
      write: (piece) => this.#send(piece),
      onDrain: (callback) => this.onDrain(callback),
      end: (last) => {
        if (last !== undefined) this.#send(last);
        this.#stream.end();
      },
    });
  }

  destroy(): void {
    this.#state.complete();
    // Not `close`, which would say END_STREAM first and make half an answer look whole.
    this.#stream.destroy(new Error('the answer was broken off'));
  }
}

/** Names in lower case, repeats as lists (RFC 9113 §8.2). */
function fieldsOf(status: number, headers: HeaderList): OutgoingHttpHeaders {
  const fields = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const values = fields.get(key);
    if (values) values.push(value);
    else fields.set(key, [value]);
  }
  const single = [...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  return { ':status': status, ...Object.fromEntries(single) };
}
