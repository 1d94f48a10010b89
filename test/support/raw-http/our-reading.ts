/**
 * What the client for the API server makes of the bytes of an answer, cut into these pieces.
 */
import type { HeaderField } from '../../../src/lib/header-list.ts';
import { type AnswerHead, MalformedAnswer } from '../../../src/upstream/answer-head.ts';
import { AnswerReader } from '../../../src/upstream/answer-reader.ts';

export interface OurReading {
  readonly status: number | undefined;
  readonly fields: readonly HeaderField[] | undefined;
  readonly persistent: boolean | undefined;
  readonly keptFor: number | undefined;
  /** In latin1. */
  readonly content: string;
  /** How many answers came to their end; more than one never may. */
  readonly ended: number;
  /** Why the connection is given up. */
  readonly refusal: string | undefined;
}

/** @param maxHeadBytes of the answer's heads together */
export function readByUs(pieces: readonly Buffer[], method: string, maxHeadBytes = 64 * 1024): OurReading {
  let head: AnswerHead | undefined;
  let content = '';
  let ended = 0;
  let refusal: string | undefined;
  const reader = new AnswerReader(
    {
      onHead(received) {
        if (head !== undefined) throw new Error('two heads');
        head = received;
      },
      onData(chunk) {
        if (head === undefined || ended > 0) throw new Error('content that is not this answer’s');
        content += chunk.copy().toString('latin1');
      },
      onEnd() {
        ended += 1;
      },
    },
    maxHeadBytes,
  );
  reader.expect(method);
  try {
    for (const piece of pieces) readLent(reader, piece);
    reader.finish();
  } catch (error) {
    if (!(error instanceof MalformedAnswer)) throw error;
    refusal = error.message;
  }
  const { status, fields, persistent, keptFor }: Partial<AnswerHead> = head ?? {};
  return { status, fields, persistent, keptFor, content, ended, refusal };
}

/** How many bytes are the answer's; undefined where it does not end by itself, or is refused. */
export function sizeByUs(bytes: Buffer, method: string): number | undefined {
  let size: number | undefined;
  let at = 0;
  const reader = new AnswerReader(
    {
      onHead: () => undefined,
      onData: () => undefined,
      onEnd: () => {
        size = at;
      },
    },
    64 * 1024,
  );
  reader.expect(method);
  try {
    while (at < bytes.length && size === undefined) {
      at += 1;
      readLent(reader, bytes.subarray(at - 1, at));
    }
  } catch (error) {
    if (!(error instanceof MalformedAnswer)) throw error;
  }
  return size;
}

/** As from a connection: what was read is written over at once. */
function readLent(reader: AnswerReader, bytes: Buffer): void {
  const lent = Buffer.from(bytes);
  try {
    reader.read(lent);
  } finally {
    lent.fill('!');
  }
}
