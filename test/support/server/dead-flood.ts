/**
 * A worker thread that floods a listener over HTTP/2 and is gone: thousands of request heads in one write,
 * and the socket destroyed while the listener, in its own thread, is at work on the first of them. The
 * preface goes ahead, so that the listener's own SETTINGS are on their way by then.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { workerData } from 'node:worker_threads';
import { END_HEADERS, END_STREAM, FRAME, frame, GET_ROOT, HELLO } from './raw-http2.ts';

/** What the worker is started with. */
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
