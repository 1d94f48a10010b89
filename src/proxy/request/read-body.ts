/**
 * Reads the body of a request that Stonegate answers itself: whole, bounded in size and time.
 */
import { StatusError } from '../../errors/status-error.ts';
import { type Clock, unlessAborted, withDeadline } from '../../lib/clock.ts';
import type { Exchange } from '../../lib/exchange.ts';

export interface BodyLimits {
  readonly bodyBytes: number;
  /** Milliseconds for the whole body. */
  readonly bodyTimeout: number;
  /** Called as the body arrives, with its size so far. What it throws ends the reading. */
  readonly onSize?: (bytes: number) => void;
}

/**
 * @param limits.what the body is for, as the refusal names it
 * @throws StatusError BodyTooLarge, BodyTimeout
 */
export function readBody(
  exchange: Pick<Exchange, 'body' | 'bytesReceived'>,
  limits: BodyLimits & { readonly what: string },
  clock: Clock,
): Promise<Buffer> {
  const late = () => new StatusError('BodyTimeout', 'the request body did not arrive in time');
  return withDeadline(clock, limits.bodyTimeout, late, (signal) =>
    unlessAborted(collect(exchange, limits), signal),
  );
}

async function collect(
  exchange: Pick<Exchange, 'body' | 'bytesReceived'>,
  { bodyBytes, what, onSize }: Omit<BodyLimits, 'bodyTimeout'> & { readonly what: string },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Destroying the body would destroy the connection that the refusal has to travel on.
  for await (const chunk of exchange.body.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    exchange.bytesReceived += bytes.length;
    if (size > bodyBytes) {
      throw new StatusError(
        'BodyTooLarge',
        `Request entity too large: limit is ${bodyBytes} bytes for ${what}`,
      );
    }
    onSize?.(size);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
