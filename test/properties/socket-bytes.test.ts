/**
 * No bytes from a client end the process. Afterwards the listener serves another client, and no connection is
 * left open.
 */
import { once } from 'node:events';
import { connect as connectTCP } from 'node:net';
import type { Duplex } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { listenFor } from '../support/server/listening.ts';
import { FRAME, frame, GET_ROOT, HELLO } from '../support/server/raw-http2.ts';

const faults: unknown[] = [];
process.on('uncaughtException', (error) => faults.push(error));
process.on('unhandledRejection', (error) => faults.push(error));

const listening = await listenFor(t, async ({ target, body, response, upgrade }) => {
  if (upgrade) upgrade.socket.write(upgrade.head);
  for await (const chunk of body) response.write(chunk);
  response.writeHead(200, [['X-Target', encodeURIComponent(target.slice(0, 100))]]);
  response.end('ok');
});

/** Sends the pieces one by one and disconnects. */
async function send(socket: Duplex, pieces: readonly Uint8Array[]): Promise<void> {
  socket.on('error', () => socket.destroy());
  socket.resume();
  for (const piece of pieces) {
    if (socket.destroyed) break;
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  setImmediate(() => setImmediate(() => socket.destroy()));
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

async function stillServes(): Promise<boolean> {
  const socket = await listening.socket();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const [head] = await once(socket, 'data');
  socket.destroy();
  await eventually(() => listening.listener.activeConnections === 0);
  return String(head).startsWith('HTTP/1.1 200') && faults.length === 0;
}

const pieces = (bytes: fc.Arbitrary<Uint8Array>) => fc.array(bytes, { minLength: 1, maxLength: 8 });
const noise = fc.uint8Array({ maxLength: 300 });

const words = [
  ...[
    'GET / HTTP/1.1\r\n',
    'POST /a HTTP/1.1\r\n',
    'GET // HTTP/1.0\r\n',
    'CONNECT a:1 HTTP/1.1\r\n',
    'PRI * HTTP/2.0\r\n',
  ],
  ...[
    'Host: x\r\n',
    'Connection: Upgrade\r\n',
    'Upgrade: websocket\r\n',
    'Expect: 100-continue\r\n',
    'Expect: x\r\n',
  ],
  ...[
    'Content-Length: 4\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Trailer: x\r\n',
    ' folded\r\n',
    'X:\0\r\n',
    'X: é\r\n',
  ],
  ...[
    '\r\n',
    '\n',
    '0\r\n\r\n',
    '4\r\nabcd\r\n',
    'ffffffffffffffff\r\n',
    'SM\r\n\r\n',
    `X: ${'y'.repeat(70_000)}\r\n`,
  ],
];
const http1 = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(fc.constantFrom(...words), { maxLength: 8 })
      .map((w) => Buffer.from(w.join(''), 'latin1')),
  },
  { weight: 1, arbitrary: noise },
);

const http2 = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...Object.values(FRAME), 2, 5, 11, 255),
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom(0, 1, 3, 5, 2, 0x7fffffff, 0xffffffff),
        fc.oneof(fc.constant(GET_ROOT), fc.uint8Array({ maxLength: 40 })),
      )
      .map(([type, flags, stream, payload]) => frame(type, flags, stream, payload)),
  },
  { weight: 1, arbitrary: noise },
);

const RUNS = { numRuns: 150 };

t.test('the listener survives random bytes instead of TLS', async (t) => {
  const property = fc.asyncProperty(pieces(noise), async (bytes) => {
    await send(connectTCP(listening.port, '127.0.0.1'), bytes);
    return stillServes();
  });
  await t.resolves(fc.assert(property, RUNS));
});

t.test('the listener survives malformed HTTP/1.1', async (t) => {
  const property = fc.asyncProperty(pieces(http1), async (bytes) => {
    await send(await listening.socket(), bytes);
    return stillServes();
  });
  await t.resolves(fc.assert(property, RUNS));
});

t.test('the listener survives malformed HTTP/2', async (t) => {
  const property = fc.asyncProperty(fc.boolean(), pieces(http2), async (greets, bytes) => {
    const socket = await listening.socket({ ALPNProtocols: ['h2'] });
    await send(socket, greets ? [HELLO, ...bytes] : bytes);
    return stillServes();
  });
  await t.resolves(fc.assert(property, RUNS));
});
