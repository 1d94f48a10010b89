/**
 * A worker thread that floods a listener over HTTP/2 and disconnects: it sends thousands of request heads in
 * one write and destroys the socket while the listener, in its own thread, processes the first of them. The
 * preface is sent earlier, so that the listener’s own SETTINGS are in transit by then.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { workerData } from 'node:worker_threads';
import { END_HEADERS, END_STREAM, FRAME, frame, GET_ROOT, HELLO } from './raw-http2.ts';

/** The data with which the worker is started. */
export interface DeadFlood {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
  readonly connections: number;
}

const { port, ca, connections }: DeadFlood = workerData;
const heads = Array.from({ length: 3_000 }, (_, index) =>
  frame(FRAME.headers, END_HEADERS | END_STREAM, 2 * index + 1, GET_ROOT),
);
const bytes = Buffer.concat(heads);
for (let count = 0; count < connections; count += 1) {
  const options = { port, ca, host: '127.0.0.1', servername: 'localhost', ALPNProtocols: ['h2'] };
  const socket = connect(options).resume();
  socket.on('error', () => socket.destroy());
  await once(socket, 'secureConnect');
  socket.write(HELLO);
  socket.write(bytes);
  setTimeout(() => socket.destroy(), 1);
  await once(socket, 'close');
}
