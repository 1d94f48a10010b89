/**
 * Both ends of a watch for `watch-filter.ts`: an API server that sends events, and a client that reads them
 * all.
 */
import { createServer, get, type ServerResponse } from 'node:http';
import process from 'node:process';

interface Task {
  readonly port: number;
  readonly bytes: number;
  readonly together: number;
  readonly events: number;
}

const server = createServer(({ url = '' }, response) => {
  const [bytes = 0, together = 1, events = 0] = url.slice(1).split('/').map(Number);
  const beginning = '{"type":"MODIFIED","object":{"data":"';
  const event = `${beginning}${'x'.repeat(bytes - beginning.length - 4)}"}}\n`;
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.socket?.setNoDelay(true);
  send(response, Buffer.from(event.repeat(together)), Math.ceil(events / together));
});

/** As fast as the other end takes them, but one packet at a time. */
function send(response: ServerResponse, packet: Buffer, left: number): void {
  if (left === 0) response.end();
  else response.write(packet, () => setImmediate(send, response, packet, left - 1));
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.send?.(address?.port);
});

process.on('message', ({ port, bytes, together, events }: Task) => {
  get({ port, host: '127.0.0.1', path: `/${bytes}/${together}/${events}` }, (response) => {
    let read = 0;
    response.on('data', (chunk: Buffer) => {
      read += chunk.length;
    });
    response.on('end', () => process.send?.(read));
  });
});
