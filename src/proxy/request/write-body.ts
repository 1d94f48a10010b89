/**
 * Sends a complete body whose memory is accounted for: it is given back when the client has accepted the
 * body, or is gone. A client that reads slowly holds its tenant's share meanwhile.
 */
import { fromAbortSignal } from '../../lib/cancellation.ts';
import type { Exchange } from '../../lib/exchange.ts';

const PIECE = 64 * 1024;

/** @param release called once */
export function writeAccounted(
  { response, signal, cancellation }: Pick<Exchange, 'response' | 'signal' | 'cancellation'>,
  body: Buffer,
  release: () => void,
): void {
  const client = cancellation ?? fromAbortSignal(signal);
  let offset = 0;
  let isReleased = false;

  function done(): void {
    if (isReleased) return;
    isReleased = true;
    client.offCancel(done);
    release();
  }

  function send(): void {
    while (!response.closed && body.length - offset > PIECE) {
      const piece = body.subarray(offset, offset + PIECE);
      offset += PIECE;
      if (response.write(piece)) continue;
      response.onDrain(send);
      return;
    }
    if (!response.closed) response.end(body.subarray(offset));
    done();
  }

  client.onCancel(done);
  if (client.cancelled) done();
  else send();
}
