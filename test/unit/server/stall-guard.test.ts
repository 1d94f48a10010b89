/** How long an answer may stand still because its client takes nothing of it, in both protocols. */
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import t from 'tap';
import { TimeoutQueue } from '../../../src/lib/timeout-queue.ts';
import { StallGuard } from '../../../src/server/stall-guard.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { startListener } from '../../support/server/listening.ts';

const STALL = 300_000;
const TIMEOUTS = { header: 1_000_000_000, idle: 1_000_000_000, stall: STALL };
const BODY = Buffer.alloc(40_000_000);

t.test('the guard of an answer', async (t) => {
  const clock = createFakeClock(0);
  let unsent = 0;
  let sent = 0;
  let stalls = 0;
  const guard = new StallGuard(new TimeoutQueue(clock, 100), {
    get unsent() {
      return unsent;
    },
    get sent() {
      return sent;
    },
    onStall: () => {
      stalls += 1;
    },
  });

  t.test('does not watch what was taken at once', async (t) => {
    guard.wrote();
    t.equal(clock.pending, 0);
  });

  t.test('forgives as long as anything is taken', async (t) => {
    unsent = 10;
    guard.wrote();
    for (let look = 0; look < 50; look += 1) {
      sent += 1;
      guard.wrote();
      clock.advance(100);
    }
    t.equal(stalls, 0);
  });

  t.test('rests while nothing is to be sent', async (t) => {
    unsent = 0;
    clock.advance(100);
    t.equal(clock.pending, 0);
    clock.advance(1_000_000);
    t.equal(stalls, 0);
  });

  t.test('gives up, once, when nothing is taken', async (t) => {
    unsent = 10;
    guard.wrote();
    clock.advance(99);
    t.equal(stalls, 0);
    clock.advance(1);
    t.equal(stalls, 1);
    t.equal(clock.pending, 0);
  });
});

interface Asked {
  readonly answer: Readable;
  readonly gone: () => boolean;
  readonly leave: () => void;
}

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  for (const way of ['in one piece', 'chunk by chunk'] as const) {
    t.test(`over ${protocol}, an answer ${way}`, async (t) => {
      const clock = createFakeClock();
      let signal: AbortSignal | undefined;
      let written = 0;
      const listening = await startListener(
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
      t.teardown(() => listening.close());

      async function ask(): Promise<Asked> {
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
            answer: socket,
            gone: () => ended || listening.listener.activeConnections === 0,
            leave: () => socket.destroy(),
          };
        }
        const session = await listening.session();
        const stream = session.request({ ':path': '/' });
        let broken = false;
        stream.on('error', () => {
          broken = true;
        });
        await once(stream, 'response');
        return { answer: stream, gone: () => broken, leave: () => session.destroy() };
      }

      t.test('whose client takes no byte is broken off', async (t) => {
        const { gone, leave } = await ask();
        await eventually(() => {
          clock.advance(STALL);
          return gone();
        });
        if (way === 'chunk by chunk') t.equal(signal?.aborted, true);
        leave();
        await eventually(() => listening.listener.activeConnections === 0);
        t.equal(written < BODY.length, true);
      });

      t.test('whose client takes some now and then comes whole', async (t) => {
        const { answer, gone, leave } = await ask();
        let received = 0;
        while (received < BODY.length && !gone()) {
          for (let taken = 0; taken < 8_000_000 && received < BODY.length && !gone(); ) {
            const chunk: Buffer | null = answer.read();
            if (chunk === null) await once(answer, 'readable');
            else {
              taken += chunk.length;
              received += chunk.length;
            }
          }
          clock.advance(STALL - 1);
        }
        t.ok(received >= BODY.length);
        leave();
        await eventually(() => listening.listener.activeConnections === 0);
      });
    });
  }
}

t.test('a watch that has nothing to send lives on', async (t) => {
  const clock = createFakeClock();
  const listening = await startListener(
    async ({ response, signal }) => {
      response.writeHead(200, []);
      response.write(Buffer.from('event'));
      if (!signal.aborted) await once(signal, 'abort');
    },
    { clock, timeouts: TIMEOUTS },
  );
  t.teardown(() => listening.close());
  const session = await listening.session();
  const stream = session.request({ ':path': '/' });
  await once(stream, 'data');
  const socket = await listening.socket();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  for (let look = 0; look < 10; look += 1) {
    clock.advance(STALL);
    await new Promise(setImmediate);
  }
  t.notOk(stream.destroyed);
  t.notOk(socket.destroyed);
  t.equal(listening.listener.activeConnections, 2);
  session.destroy();
  socket.destroy();
});

t.test('a tunnel is not held to the pace of an answer that came before it', async (t) => {
  const clock = createFakeClock();
  let tunnel: Duplex | undefined;
  const listening = await startListener(
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
  t.teardown(() => listening.close());
  const socket = await listening.socket();
  socket.on('error', () => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await eventually(() => tunnel !== undefined && socket.readableLength > 0);
  for (let look = 0; look < 10; look += 1) {
    clock.advance(STALL);
    await new Promise(setImmediate);
  }
  t.equal(tunnel?.destroyed, false);
  socket.destroy();
  await eventually(() => tunnel?.destroyed === true);
});
