/**
 * `Expect: 100-continue`: the client is told to go on when somebody first reads its body, not before. So a
 * refused request never uploads anything.
 * RFC 9110 §10.1.1.
 */
import { Readable } from 'node:stream';
import type { Logger } from '../lib/logger.ts';

/**
 * The body of a request whose client waits for leave to send it.
 *
 * @param body as it arrives
 * @param sayContinue sends the interim response
 */
export function continueOnRead(body: Readable, sayContinue: () => void, logger: Logger): Readable {
  const chunks = body.iterator({ destroyOnReturn: false });
  async function* read(): AsyncGenerator<unknown, void> {
    sayContinue();
    yield* chunks;
  }
  const awaited = Readable.from(read(), { objectMode: false });
  // Whoever reads it learns of a broken upload too; without a listener it would be an uncaught error.
  awaited.on('error', (error) => logger.debug({ error }, 'an awaited body broke off'));
  return awaited;
}
