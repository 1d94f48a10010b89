/** A TCP relay in front of a server, which a test can cut, heal and point to another server. */
import { createConnection, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import { listen } from '../../../src/server/listen.ts';

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/** The relay ends with the test. */
export async function startRelay(t: Pick<Test, 'teardown'>, target: number) {
  const sockets = new Set<Socket>();
  let port = target;
  let isCut = false;
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = createConnection(port, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  const address = await listen(server, '127.0.0.1:0');
  t.teardown(() => {
    breakAll();
    server.close();
  });
  return {
    port: address.port,
    /** Breaks all connections; new ones are refused until `heal`. */
    cut() {
      isCut = true;
      breakAll();
    },
    heal() {
      isCut = false;
    },
    /** Breaks all connections; new ones go to this port. */
    turnTo(next: number) {
      port = next;
      breakAll();
    },
  };
}
