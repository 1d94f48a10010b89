/** Timeouts of idle connections and of responses that their clients do not read, in both protocols. */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import t from 'tap';
import { TimeoutQueue } from '../../../src/lib/timeout-queue.ts';
import { ProgressTimeout } from '../../../src/server/progress-timeout.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { listenFor } from '../../support/server/listening.ts';

const TIMEOUT = 120_000;

function started(queue: TimeoutQueue) {
  const state: { progress: number | undefined; expired: number } = { progress: 100, expired: 0 };
  const timeout = new ProgressTimeout(queue, {
    get progress() {
      return state.progress;
    },
    onTimeout: () => {
      state.expired += 1;
    },
  });
  timeout.start();
  return { state, timeout };
}

t.test('a thousand idle connections are closed with few wake-ups', async (t) => {
  const clock = createFakeClock(0);
  const queue = new TimeoutQueue(clock, TIMEOUT);
  const connections = Array.from({ length: 1_000 }, () => {
    clock.advance(100);
    return started(queue);
  });
  const begun = clock.now();
  let wakeUps = 0;
  while (clock.pending > 0) {
    clock.advance(clock.untilNext);
    wakeUps += 1;
  }
  t.ok(connections.every(({ state }) => state.expired === 1));
  t.ok(clock.now() - begun <= TIMEOUT + TIMEOUT / 8, 'none stays open much longer than its timeout');
  t.ok(wakeUps <= 10, `the process wakes up ${wakeUps} times`);
});

t.test('requests one after the other over HTTP/2 share a timer', async (t) => {
  const clock = createFakeClock();
  let timers = 0;
  const counting = {
    ...clock,
    after(...args: Parameters<typeof clock.after>) {
      timers += 1;
      return clock.after(...args);
    },
  };
  const listening = await listenFor(t, undefined, { clock: counting });
  const session = await listening.session();
  const get = async () => {
    const stream = session.request({ ':path': '/' });
    stream.resume();
    await once(stream, 'close');
  };
  await get();
  const before = timers;
  for (let count = 0; count < 20; count += 1) await get();
  t.ok(timers - before <= 1, `${timers - before} timers for 20 requests`);
});

const STALL = 300_000;
const TIMEOUTS = { header: 1_000_000_000, idle: 1_000_000_000, stall: STALL };
const BODY = Buffer.alloc(40_000_000);

for (const [protocol, way] of [
  ['HTTP/1.1', 'in one piece'],
  ['HTTP/2', 'chunk by chunk'],
] as const)
  t.test(`over ${protocol}, a response ${way}`, async (t) => {
    const clock = createFakeClock();
    let signal: AbortSignal | undefined;
    let written = 0;
    const listening = await listenFor(
      t,
      async (exchange) => {
        const { response } = exchange;
        signal = exchange.signal;
        response.writeHead(200, [['Content-Length', String(BODY.length)]]);
        if (way === 'in one piece') {
          response.end(BODY);
          return;
        }
        for (written = 0; written < BODY.length && !response.closed; written += 100_000)
          if (!response.write(BODY.subarray(0, 100_000)))
            await Promise.race([
              new Promise<void>((resolve) => response.onDrain(resolve)),
              once(exchange.signal, 'abort'),
            ]);
        if (!response.closed) response.end();
      },
      { clock, timeouts: TIMEOUTS },
    );

    async function ask() {
      signal = undefined;
      if (protocol === 'HTTP/1.1') {
        const socket = await listening.socket();
        let ended = false;
        socket.once('close', () => {
          ended = true;
        });
        socket.on('error', () => socket.destroy());
        socket.pause();
        socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        await eventually(() => signal !== undefined && socket.readableLength > 0);
        return {
          response: socket,
          closed: () => ended || listening.listener.activeConnections === 0,
          disconnect: () => socket.destroy(),
        };
      }
      const session = await listening.session();
      const stream = session.request({ ':path': '/' });
      let broken = false;
      stream.on('error', () => {
        broken = true;
      });
      await once(stream, 'response');
      return { response: stream, closed: () => broken, disconnect: () => session.destroy() };
    }

    t.test('is aborted if its client accepts no byte', async (t) => {
      const { closed, disconnect } = await ask();
      await eventually(() => {
        clock.advance(STALL);
        return closed();
      });
      if (way === 'chunk by chunk') t.equal(signal?.aborted, true);
      disconnect();
      await eventually(() => listening.listener.activeConnections === 0);
      t.equal(written < BODY.length, true);
    });

    t.test('is complete if its client occasionally accepts some bytes', async (t) => {
      const { response, closed, disconnect } = await ask();
      let received = 0;
      while (received < BODY.length && !closed()) {
        for (let taken = 0; taken < 8_000_000 && received < BODY.length && !closed(); ) {
          const chunk: Buffer | null = response.read();
          if (chunk === null) await once(response, 'readable');
          else {
            taken += chunk.length;
            received += chunk.length;
          }
        }
        clock.advance(STALL - 1);
      }
      t.ok(received >= BODY.length);
      disconnect();
      await eventually(() => listening.listener.activeConnections === 0);
    });
  });

t.test('a watch without events stays open', async (t) => {
  const clock = createFakeClock();
  const listening = await listenFor(
    t,
    async ({ response, signal }) => {
      response.writeHead(200, []);
      response.write(Buffer.from('event'));
      if (!signal.aborted) await once(signal, 'abort');
    },
    { clock, timeouts: TIMEOUTS },
  );
  const session = await listening.session();
  const stream = session.request({ ':path': '/' });
  await once(stream, 'data');
  const socket = await listening.socket();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  for (let check = 0; check < 10; check += 1) {
    clock.advance(STALL);
    await new Promise(setImmediate);
  }
  t.notOk(stream.destroyed);
  t.notOk(socket.destroyed);
  t.equal(listening.listener.activeConnections, 2);
  session.destroy();
  socket.destroy();
});

t.test('a tunnel does not inherit the stall timeout of an earlier response', async (t) => {
  const clock = createFakeClock();
  let tunnel: Duplex | undefined;
  const listening = await listenFor(
    t,
    async ({ response, upgrade, signal }) => {
      tunnel = upgrade?.socket;
      if (tunnel === undefined) {
        response.writeHead(200, [['Content-Length', '2']]);
        response.end('ok');
        return;
      }
      tunnel.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
      tunnel.write(BODY);
      await once(signal, 'abort');
    },
    { clock, timeouts: TIMEOUTS },
  );
  const socket = await listening.socket();
  socket.on('error', () => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await eventually(() => tunnel !== undefined && socket.readableLength > 0);
  for (let check = 0; check < 10; check += 1) {
    clock.advance(STALL);
    await new Promise(setImmediate);
  }
  t.equal(tunnel?.destroyed, false);
  socket.destroy();
  await eventually(() => tunnel?.destroyed === true);
});
