/**
 * A server that sends exactly the bytes that a test has prepared for each request, split as the test says,
 * and records how the client uses its connections.
 */
import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

export interface ScriptedResponse {
  /** In latin1. */
  readonly bytes: string;
  /** Offsets at which the bytes are split, modulo their length. */
  readonly cuts: readonly number[];
  /** Whether the server closes the connection afterwards. */
  readonly ends: boolean;
}

export type ScriptedServer = Awaited<ReturnType<typeof startScriptedServer>>;

export async function startScriptedServer() {
  let script: ScriptedResponse[] = [];
  let connections = 0;
  let pipelined = false;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    let received = '';
    let responding = false;
    sockets.add(socket);
    connections += 1;
    socket
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('error', () => socket.destroy())
      .on('close', () => sockets.delete(socket))
      .on('data', async (text: string) => {
        received += text;
        if (responding) pipelined ||= / HTTP\/1\.1\r\n/.test(text);
        if (responding || !received.includes('\r\n\r\n')) return;
        responding = true;
        received = '';
        const response = script.shift();
        if (response !== undefined) await send(socket, response);
        responding = false;
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    /** The number of connections since `play`. */
    get connections() {
      return connections;
    },
    /** Whether a request arrived before the response to the previous one was sent. */
    get pipelined() {
      return pipelined;
    },
    /** Sets the responses to the next requests, in order. */
    play(responses: readonly ScriptedResponse[]) {
      script = [...responses];
      connections = 0;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function send(socket: net.Socket, { bytes, cuts, ends }: ScriptedResponse) {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of places) {
    if (to > from) socket.write(bytes.slice(from, to), 'latin1');
    from = to;
    await turn();
  }
  // No turn of the event loop afterwards: the next request may follow at once.
  socket.write(bytes.slice(from), 'latin1');
  if (ends) socket.end();
}
