/**
 * A free loopback port, for programs that must know their port before they start. It is below the range from
 * which the system chooses ports of outgoing connections, since any of our connections could take one of
 * those a moment later.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * https://www.rfc-editor.org/rfc/rfc6335#section-6, without the ports that Linux uses for outgoing
 * connections (32768 and above).
 */
const LOWEST = 10_240;
const LIMIT = 32_768;
const TRIES = 100;
/** No port is returned twice, since the first program may not listen on it yet. */
const given = new Set<number>();

/** @param wanted is returned if it is free */
export async function freePort(wanted: number = randomPort()) {
  let port = wanted;
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
    port = randomPort();
  }
  throw new Error(`none of ${TRIES} ports was free`);
}

const randomPort = () => randomInt(LOWEST, LIMIT);

async function isFree(port: number) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}
