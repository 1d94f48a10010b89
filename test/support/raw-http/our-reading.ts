import { Http1Error } from '../../../src/upstream/http1/errors.ts';
import type { ResponseHead } from '../../../src/upstream/http1/response-head.ts';
import { ResponseParser } from '../../../src/upstream/http1/response-parser.ts';

export type OurReading = ReturnType<typeof readByUs>;

export function readByUs(pieces: readonly Buffer[], method: string) {
  let head: ResponseHead | undefined;
  let content = '';
  let ended = 0;
  let refusal: string | undefined;
  const reader = new ResponseParser({
    onHead(received) {
      if (head !== undefined) throw new Error('two heads');
      head = received;
    },
    onData(chunk) {
      if (head === undefined || ended > 0) throw new Error('content of no response');
      content += chunk.copy().toString('latin1');
    },
    onEnd() {
      ended += 1;
    },
  });
  reader.expect(method);
  try {
    for (const piece of pieces) readLent(reader, piece);
    reader.finish();
  } catch (error) {
    if (!(error instanceof Http1Error) || error.code !== 'MALFORMED_RESPONSE') throw error;
    refusal = error.message;
  }
  const { status, fields, persistent, keepAliveTimeout }: Partial<ResponseHead> = head ?? {};
  return {
    status,
    fields,
    persistent,
    keepAliveTimeout,
    /** In latin1. */
    content,
    /** The number of complete responses: never more than one. */
    ended,
    /** Why the connection is closed. */
    refusal,
  };
}

/** The size of the response in bytes; undefined if it ends with the connection or is refused. */
export function sizeByUs(bytes: Buffer, method: string): number | undefined {
  let size: number | undefined;
  let at = 0;
  const reader = new ResponseParser({
    onHead: () => undefined,
    onData: () => undefined,
    onEnd: () => {
      size = at;
    },
  });
  reader.expect(method);
  try {
    while (at < bytes.length && size === undefined) {
      at += 1;
      readLent(reader, bytes.subarray(at - 1, at));
    }
  } catch (error) {
    if (!(error instanceof Http1Error) || error.code !== 'MALFORMED_RESPONSE') throw error;
  }
  return size;
}

/** Passes bytes to the reader and overwrites them afterwards, as a connection does. */
function readLent(reader: ResponseParser, bytes: Buffer) {
  const lent = Buffer.from(bytes);
  try {
    reader.read(lent);
  } finally {
    lent.fill('!');
  }
}
