/**
 * Sends a body that is whole in memory piece by piece as its client takes it. Written at once, every answer would be
 * copied for its connection, however slow, and nobody could tell a slow client from one that takes nothing.
 */

const PIECE = 64 * 1024;

/** An answer, as it takes a body. */
export interface Pieces {
  /** @returns false where the client takes it slower than this */
  writePiece(piece: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  /** @param last undefined where there is nothing left */
  endWith(last: Uint8Array | undefined): void;
}

export function endInPieces(chunk: Uint8Array | string | undefined, answer: Pieces): void {
  const body = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  if (body === undefined || body.length === 0) answer.endWith(undefined);
  else if (body.length <= PIECE) answer.endWith(body);
  else sendFrom(body, 0, answer);
}

function sendFrom(body: Uint8Array, start: number, answer: Pieces): void {
  let at = start;
  while (body.length - at > PIECE) {
    const room = answer.writePiece(body.subarray(at, at + PIECE));
    at += PIECE;
    if (!room) {
      answer.onDrain(() => sendFrom(body, at, answer));
      return;
    }
  }
  answer.endWith(body.subarray(at));
}
