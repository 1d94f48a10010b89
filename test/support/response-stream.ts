/** The client’s end of a streamed response: it reads everything until the test says that it stops reading. */
import type { ResponseStream, StreamedResponse } from '../../src/proxy/response/response-stream.ts';

export type ReadStream = ReturnType<typeof readStream>;

export function readStream(
  { start }: Pick<StreamedResponse, 'start'>,
  { reads = true }: { readonly reads?: boolean } = {},
) {
  const state = { text: '', ended: false, reads, writable: true };
  let drained: (() => void)[] = [];
  let stop = () => {};
  function finish() {
    if (state.ended) return;
    state.ended = true;
    stop();
  }
  function drain() {
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
    end: finish,
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
    /** Simulates a client that stops reading; data that is written then is still part of `text`. */
    pause() {
      state.reads = false;
      state.writable = false;
    },
    resume() {
      state.reads = true;
      drain();
    },
    /** Reads once and then stops again, as a slow client does. */
    readOnce: drain,
    leave: finish,
  };
}
