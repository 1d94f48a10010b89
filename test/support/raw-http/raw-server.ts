/** A TCP server whose connections a test reads and writes itself. */
import { once } from 'node:events';
import net from 'node:net';
import { RawConnection } from './raw-connection.ts';

export type RawServer = Awaited<ReturnType<typeof startRawServer>>;

export async function startRawServer() {
  const connections: RawConnection[] = [];
  let taken = 0;
  let arrived = Promise.withResolvers<void>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    connections.push(new RawConnection(socket));
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    /** Every connection so far. */
    connections,
    /** The number of open connections. */
    get open() {
      return connections.filter(({ socket }) => !socket.destroyed).length;
    },
    /** The next connection that was not returned yet, once the text has arrived on it. */
    async next(text = '') {
      for (;;) {
        const connection = connections[taken];
        if (connection !== undefined) {
          taken += 1;
          await connection.until(text);
          return connection;
        }
        await arrived.promise;
      }
    },
    /** Destroys every connection and stops listening. */
    async close() {
      server.close();
      for (const { socket } of connections) socket.destroy();
      await Promise.all(connections.map(({ closed }) => closed));
    },
  };
}
