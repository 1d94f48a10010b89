/** A TCP relay between a replica and its Redis, which a test cuts, heals and makes slow. */
import { createConnection, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { listen } from '../../../src/server/listen.ts';

export interface Relay {
  readonly port: number;
  /** Breaks all connections; new ones are refused until `heal`. */
  cut(): void;
  heal(): void;
  /** Each chunk to the server arrives so much later, in milliseconds. */
  delay: number;
}

/** Ends with the test. */
export async function startRelay(t: Pick<Test, 'teardown'>, target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    // What is broken here is noticed at both ends.
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    track(client);
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = track(createConnection(target, '127.0.0.1'));
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    upstream.pipe(client);
    void forward(client, upstream, () => relay.delay);
  });
  const { port } = await listen(server, '127.0.0.1:0');
  const relay: Relay = {
    port,
    delay: 0,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    heal() {
      isCut = false;
    },
  };
  t.teardown(() => {
    relay.cut();
    server.close();
  });
  return relay;
}

async function forward(from: Socket, to: Socket, delay: () => number): Promise<void> {
  try {
    for await (const chunk of from) {
      if (delay() > 0) await pause(delay(), undefined, { ref: false });
      to.write(chunk);
    }
    to.end();
  } catch {
    // The connection was broken.
    to.destroy();
  }
}
