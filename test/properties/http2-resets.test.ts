/**
 * Over HTTP/2 a reset cancels its request, whatever its error code, however small the flow-control window and
 * however much of the response was sent. A connection never has more requests in progress than the streams it
 * was granted.
 */
import { once } from 'node:events';
import fc from 'fast-check';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { listenFor, readAll } from '../support/server/listening.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET_ROOT,
  goawayCodes,
  PREFACE,
  uint32,
} from '../support/server/raw-http2.ts';

const H2 = { ALPNProtocols: ['h2'] };
const GRANTED = 100;

/** SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2). */
function hello(window: number): Buffer {
  return Buffer.concat([
    PREFACE,
    frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(window)])),
  ]);
}

function request(stream: number): Buffer {
  return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, GET_ROOT);
}

function reset(stream: number, code: number): Buffer {
  return frame(FRAME.resetStream, 0, stream, uint32(code));
}

const moments = ['before the head', 'behind the head', 'in the data'] as const;

t.test('a reset with any error code cancels its request', async (t) => {
  let moment: (typeof moments)[number] = 'before the head';
  const signals: AbortSignal[] = [];
  let most = 0;
  const listening = await listenFor(t, async ({ response, signal }) => {
    signals.push(signal);
    most = Math.max(most, signals.filter(({ aborted }) => !aborted).length);
    if (moment !== 'before the head') response.writeHead(200, []);
    if (moment === 'in the data') while (response.write(Buffer.alloc(16_384)));
    if (!signal.aborted) await once(signal, 'abort');
  });

  const property = fc.asyncProperty(
    fc.constantFrom(...moments),
    fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 13 }), fc.integer({ min: 14, max: 0xffffffff })),
    fc.constantFrom(0, 2, 65_535),
    fc.integer({ min: 1, max: 3 }),
    async (when, code, window, waves) => {
      moment = when;
      signals.length = 0;
      most = 0;
      const socket = await listening.socket(H2);
      const received = readAll(socket);
      socket.write(hello(window));
      for (let wave = 0; wave < waves; wave += 1) {
        const streams = Array.from({ length: 60 }, (_, index) => 2 * (60 * wave + index) + 1);
        socket.write(Buffer.concat(streams.map(request)));
        await eventually(() => signals.length === 60 * (wave + 1));
        socket.write(Buffer.concat(streams.map((stream) => reset(stream, code))));
        await eventually(() => signals.every(({ aborted }) => aborted));
      }
      const alive = !socket.destroyed;
      socket.destroy();
      await received;
      return alive && most <= GRANTED;
    },
  );
  await t.resolves(fc.assert(property, { numRuns: 30 }));
});

t.test('requests that are sent and reset in one write never exceed the granted streams', async (t) => {
  const signals: AbortSignal[] = [];
  let most = 0;
  const listening = await listenFor(t, async ({ response, signal }) => {
    signals.push(signal);
    most = Math.max(most, signals.filter(({ aborted }) => !aborted).length);
    response.writeHead(200, []);
    while (response.write(Buffer.alloc(16_384)));
    if (!signal.aborted) await once(signal, 'abort');
  });
  const socket = await listening.socket(H2);
  socket.write(hello(2));
  for (let wave = 0; wave < 4; wave += 1) {
    const streams = Array.from({ length: 70 }, (_, index) => 2 * (70 * wave + index) + 1);
    const taken = wave === 0 ? [] : streams.map((stream) => reset(stream - 2 * 70, 0));
    socket.write(Buffer.concat([...taken, ...streams.map(request)]));
    await eventually(() => signals.length === 70 * (wave + 1));
  }
  t.ok(most <= GRANTED, `${most} requests ran at once`);
  socket.destroy();
});

t.test(
  'a complete response that was not sent before its stream was reset does not hold the connection open',
  async (t) => {
    const clock = createFakeClock();
    let served = 0;
    const listening = await listenFor(
      t,
      async ({ response }) => {
        served += 1;
        response.writeHead(200, []);
        response.end(Buffer.alloc(30_000));
      },
      { clock },
    );
    const socket = await listening.socket(H2);
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.write(hello(2));
    const streams = Array.from({ length: 50 }, (_, index) => 2 * index + 1);
    socket.write(Buffer.concat(streams.map(request)));
    await eventually(() => served === streams.length);
    socket.write(Buffer.concat(streams.map((stream) => reset(stream, 0))));
    let codes: number[] = [];
    await eventually(() => {
      codes = goawayCodes(Buffer.concat(received).toString('latin1'));
      if (codes.length > 0) return true;
      clock.advance(1_000);
      return false;
    });
    t.equal(codes[0], 0, 'the idle connection receives GOAWAY');
    socket.destroy();
  },
);
