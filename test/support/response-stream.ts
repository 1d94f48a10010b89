/** The client's end of a streamed answer: it reads everything, until the test says that it stops reading. */
import type { ResponseStream, StreamedResponse } from '../../src/pipeline/response/response-stream.ts';

export interface ReadStream {
  readonly text: string;
  readonly lines: readonly string[];
  readonly ended: boolean;
  /** What the stream was failed with. */
  readonly error: unknown;
  /** What the answer says that it holds for the client. */
  readonly held: number;
  /** As if the client read no longer: what is written then is still part of `text`. */
  pause(): void;
  resume(): void;
  /** Reads once, and then no longer: what a client does that reads slowly. */
  readOnce(): void;
  leave(): void;
}

/** @param room for what the answer holds; beyond it the client is disconnected */
export function readStream(
  { start }: Pick<StreamedResponse, 'start'>,
  {
    room = Number.POSITIVE_INFINITY,
    reads = true,
  }: { readonly room?: number; readonly reads?: boolean } = {},
): ReadStream {
  let error: unknown;
  const state = { text: '', ended: false, held: 0, reads, writable: true };
  let drained: (() => void)[] = [];
  let stop = () => {};
  function finish(): void {
    if (state.ended) return;
    state.ended = true;
    stop();
  }
  function drain(): void {
    state.writable = true;
    const callbacks = drained;
    drained = [];
    for (const callback of callbacks) callback();
  }
  const stream: ResponseStream = {
    get closed() {
      return state.ended;
    },
    get isWritable() {
      return state.writable;
    },
    write(text) {
      if (state.ended) return;
      state.text += text.toString();
      state.writable = state.reads;
    },
    onDrain(callback) {
      if (state.writable) queueMicrotask(callback);
      else drained.push(callback);
    },
    holds(bytes) {
      if (state.ended) return false;
      state.held = bytes;
      if (bytes > room) finish();
      return !state.ended;
    },
    end: finish,
    fail(cause) {
      error = cause;
      finish();
    },
  };
  stop = start(stream);
  if (state.ended) stop();
  return {
    get text() {
      return state.text;
    },
    get lines() {
      return state.text.split('\n').filter((line) => line !== '');
    },
    get ended() {
      return state.ended;
    },
    get error() {
      return error;
    },
    get held() {
      return state.held;
    },
    pause() {
      state.reads = false;
      state.writable = false;
    },
    resume() {
      state.reads = true;
      drain();
    },
    readOnce: drain,
    leave: finish,
  };
}
