/**
 * Sends a body that is whole in memory piece by piece as its client takes it. Written at once, every answer would be
 * copied for its connection, however slow, and nobody could tell a slow client from one that takes nothing.
 */

const PIECE = 64 * 1024;

export interface Pieces {
  /** @returns false where the client takes it slower than this */
  write(piece: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  /** @param last undefined where there is nothing left */
  end(last: Uint8Array | undefined): void;
}

export function endInPieces(chunk: Uint8Array | string | undefined, { write, onDrain, end }: Pieces): void {
  const body = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  if (body === undefined || body.length === 0) {
    end(undefined);
    return;
  }
  let at = 0;
  const send = () => {
    while (body.length - at > PIECE) {
      const room = write(body.subarray(at, at + PIECE));
      at += PIECE;
      if (!room) {
        onDrain(send);
        return;
      }
    }
    end(body.subarray(at));
  };
  send();
}
