/**
 * Ends every connection of a server, including those in a TLS handshake, which Node’s closeAllConnections
 * does not know: the server would not be closed before they time out.
 */
import type { Server, Socket } from 'node:net';

/** @returns a function that ends all open connections */
export function trackConnections(server: Server): () => void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
