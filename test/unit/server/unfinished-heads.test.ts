/** How many connections may wait for the rest of a request head. */
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MAX_UNFINISHED_HEADS } from '../../../src/limits/memory-bounds.ts';
import { type HeadReader, UnfinishedHeads } from '../../../src/server/unfinished-heads.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, readAll, readSome, startListener } from '../../support/server/listening.ts';
import { FRAME, frame, GET_ROOT, HELLO } from '../../support/server/raw-http2.ts';

const HEAD = 'GET /version HTTP/1.1\r\nHost: x\r\n';

const UNLIMITED = { header: 3_600_000, idle: 3_600_000, stall: 3_600_000 };

t.test('the connections that have waited longest are closed', async (t) => {
  const clock = createFakeClock();
  const heads = new UnfinishedHeads({ clock, logger: silentLogger });
  const closed: number[] = [];
  const connections = Array.from({ length: MAX_UNFINISHED_HEADS + 4 }, (_, index) => {
    const connection: HeadReader & { readsHead: boolean } = {
      readsHead: index < 2,
      destroy: () => void closed.push(index),
    };
    heads.add(connection);
    return connection;
  });
  clock.advance(1_000);
  const [first] = connections;
  for (const connection of connections.toReversed()) connection.readsHead = connection !== first;
  clock.advance(1_000);
  t.same(closed, [1, 2, 3], 'the first connection has received its head');
  t.equal(clock.pending, 1);
  for (const connection of connections) heads.delete(connection);
  t.equal(clock.pending, 0, 'no timer runs while there are few connections');
});

t.test(
  'of 600 connections with an unfinished head, 512 stay open; requests and idle connections are not affected',
  async (t) => {
    const clock = createFakeClock();
    const [begun, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const serve: typeof echoTarget = async (exchange) => {
      if (exchange.target === '/slow') {
        begun.resolve();
        await release.promise;
      }
      await echoTarget(exchange);
    };
    const listening = await startListener(serve, { clock, timeouts: UNLIMITED });
    t.teardown(async () => {
      const closing = listening.close();
      clock.advance(1);
      await closing;
    });
    const slow = await listening.socket();
    const responses = readAll(slow);
    slow.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await begun.promise;
    slow.write(HEAD);
    const idle = await Promise.all(Array.from({ length: 10 }, () => listening.socket()));
    for (const socket of idle) {
      socket.write(`${HEAD}Content-Length: 4\r\n\r\n`);
      await readSome(socket);
      socket.write('body');
    }
    let closed = 0;
    const open = async (protocol: string, bytes: string | Buffer) => {
      const socket: TLSSocket = await listening.socket({ ALPNProtocols: [protocol] });
      socket.on('error', () => socket.destroy());
      socket.resume().once('close', () => {
        closed += 1;
      });
      socket.write(bytes);
    };
    const unfinished = Buffer.concat([HELLO, frame(FRAME.headers, 0, 1, GET_ROOT)]);
    for (let count = 0; count < 300; count += 1) {
      await open('http/1.1', `${HEAD}X-Rest: `);
      await open('h2', unfinished);
    }
    await eventually(() => {
      clock.advance(500);
      return closed === 600 - MAX_UNFINISHED_HEADS;
    });
    clock.advance(500);
    for (const socket of [...idle, await listening.socket()]) {
      socket.write(`${HEAD}\r\n`);
      t.match(await readSome(socket), '200 OK');
    }
    t.equal(closed, 88);
    t.equal(listening.listener.activeConnections, MAX_UNFINISHED_HEADS + idle.length + 2);
    const [again] = idle;
    if (again === undefined) throw new Error('a connection');
    again.write(HEAD);
    await eventually(() => {
      clock.advance(500);
      return closed === 89;
    });
    again.write('\r\n');
    t.match(await readSome(again), '200 OK', 'a connection that has just begun a head stays open');
    release.resolve();
    slow.write('Connection: close\r\n\r\n');
    t.match(await responses, /\/slow.*\/version/s, 'so does one whose response is not sent yet');
  },
);
