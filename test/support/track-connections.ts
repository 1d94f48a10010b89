/**
 * Ends every connection of a server, also those whose TLS handshake is not over: Node's closeAllConnections
 * does not know them, and the server would not be closed before they time out.
 */
import type { Server, Socket } from 'node:net';

/** @returns ends all that are open */
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
