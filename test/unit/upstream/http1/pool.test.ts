import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import tls, { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { eventually } from '../../../support/eventually.ts';
import { type RawServer, startRawServer } from '../../../support/raw-http/raw-server.ts';
import type { HandlerCall } from '../../../support/raw-http/recorder.ts';
import {
  CONNECT_TIMEOUT,
  createTestPool,
  QUEUE_TIMEOUT,
  type TestPool,
} from '../../../support/raw-http/test-pool.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const IDLE_TIMEOUT = 60_000;
const answer = (content: string, ...fields: string[]) =>
  ['HTTP/1.1 200 OK', `Content-Length: ${content.length}`, ...fields, '', content].join('\r\n');
const WHOLE: readonly HandlerCall[] = ['onSent', 'onHead', 'onData', 'onEnd'];

interface Ends extends TestPool {
  readonly server: RawServer;
}

async function poolFor(test: Test, max?: number, scheme = 'http') {
  const server = await startRawServer();
  const made = createTestPool({ server: `${scheme}://127.0.0.1:${server.port}` }, max);
  test.teardown(async () => {
    await made.pool.destroy();
    await server.close();
  });
  return { ...made, server };
}

/** One request and its answer over the pool's first connection. */
async function warm({ ask, server }: Ends, ...fields: string[]) {
  const one = ask({ target: '/warm' });
  const connection = await server.next('/warm');
  connection.send(answer('warm', ...fields));
  await one.ended;
  return connection;
}

t.test('a connection', async (t) => {
  for (const [name, reply] of [
    ['that the server is about to close', answer('', 'Connection: close')],
    ['that the server keeps for hardly longer than a request may take', answer('', 'Keep-Alive: timeout=2')],
    ['that has sent a second response to one request', answer('').repeat(2)],
  ] as const)
    t.test(`${name} is not used again`, async (t) => {
      const ends = await poolFor(t);
      const one = ends.ask({ target: '/one' });
      const connection = await ends.server.next('/one');
      connection.send(reply);
      await one.ended;
      t.same([one.ends, one.error], [1, undefined]);
      await connection.untilEnd();
      const two = ends.ask({ target: '/two' });
      const second = await ends.server.next('/two');
      second.send(answer('right'));
      await two.ended;
      t.equal(two.content, 'right');
      t.notMatch(connection.received, '/two');
    });

  t.test('is not used if bytes arrived on it without a request', async (t) => {
    const ends = await poolFor(t);
    const connection = await warm(ends);
    connection.send(answer('wrong'));
    await turn();
    const two = ends.ask({ target: '/two' });
    const second = await ends.server.next('/two');
    second.send(answer('right'));
    await two.ended;
    t.equal(two.content, 'right');
    t.notMatch(connection.received, '/two');
  });

  t.test(
    'is not used if the server has closed it: a POST, which is never repeated, goes over a new one',
    async (t) => {
      const ends = await poolFor(t);
      const connection = await warm(ends);
      connection.socket.end();
      await turn();
      const two = ends.ask({ method: 'POST', target: '/two', framing: 2, body: Buffer.from('{}') });
      const second = await ends.server.next('{}');
      second.send(answer('right'));
      await two.ended;
      t.same(two.calls, WHOLE);
      t.notMatch(connection.received, '/two');
    },
  );

  t.test('is closed after a minute without requests', async (t) => {
    const ends = await poolFor(t);
    const one = ends.ask({ target: '/one' });
    const two = ends.ask({ target: '/two' });
    const [first, second] = [await ends.server.next(), await ends.server.next()];
    await Promise.all([first.until('\r\n\r\n'), second.until('\r\n\r\n')]);
    first.send(answer('1'));
    await Promise.race([one.ended, two.ended]);
    ends.clock.advance(IDLE_TIMEOUT - 1);
    second.send(answer('2'));
    await Promise.all([one.ended, two.ended]);
    t.equal(ends.server.open, 2);
    ends.clock.advance(1);
    await first.untilEnd();
    t.notOk(second.ended);
    ends.clock.advance(IDLE_TIMEOUT - 1);
    await second.untilEnd();
    t.equal(ends.clock.pending, 0);
  });

  t.test('is not used for longer than its Keep-Alive field allows', async (t) => {
    const ends = await poolFor(t);
    const connection = await warm(ends, 'Keep-Alive: timeout=10');
    ends.clock.advance(8_000);
    ends.ask({ target: '/two' });
    await ends.server.next('/two');
    t.notMatch(connection.received, '/two');
    await connection.untilEnd();
  });

  t.test('sends nothing of a body whose length differs from its head', async (t) => {
    const ends = await poolFor(t);
    const body = Buffer.from('GET / HTTP/1.1\r\n\r\n');
    for (const framing of [1, 'none', 'chunked'] as const) {
      const one = ends.ask({ method: 'POST', target: '/one', framing, body });
      await one.ended;
      t.match(one.error, { code: 'REQUEST_INVALID' });
      t.equal(await (await ends.server.next()).untilEnd(), '');
    }
  });
});

t.test('if all connections are in use', async (t) => {
  t.test('requests wait, and are sent in order', async (t) => {
    const ends = await poolFor(t, 2);
    const asked = ['/1', '/2', '/3', '/4', '/5'].map((target) => ends.ask({ target }));
    const connections = [await ends.server.next(), await ends.server.next()];
    for (const [index, each] of asked.entries()) {
      const target = `/${index + 1} `;
      await eventually(() => connections.some(({ received }) => received.includes(target)));
      connections.find(({ received }) => received.includes(target))?.send(answer(target));
      await each.ended;
      t.equal(each.content, target);
      const sent = connections.map(({ received }) => received).join('');
      t.notMatch(sent, `/${index + 4} `, 'no later one has overtaken');
    }
    t.equal(ends.server.connections.length, 2);
  });

  t.test(
    'a request that is cancelled while it waits is not sent, and does not delay the others',
    async (t) => {
      const ends = await poolFor(t, 1);
      const one = ends.ask({ target: '/one' });
      const two = ends.ask({ target: '/two' });
      const three = ends.ask({ target: '/three' });
      const connection = await ends.server.next('/one');
      two.pending?.cancel();
      connection.send(answer('one'));
      await connection.until('/three');
      connection.send(answer('three'));
      await three.ended;
      t.same([one.content, three.content, two.calls], ['one', 'three', []]);
      t.notMatch(connection.received, '/two');
      t.equal(ends.clock.pending, 1, 'that of the idle connection: no request waits');
    },
  );

  t.test(
    'a request that is cancelled while its connection is opened leaves that connection to the next',
    async (t) => {
      const ends = await poolFor(t, 1);
      const one = ends.ask({ target: '/one' });
      const two = ends.ask({ target: '/two' });
      one.pending?.cancel();
      await eventually(() => ends.server.connections.some(({ received }) => received.includes('/two')));
      t.same([one.calls, two.calls], [[], ['onSent']]);
      t.notMatch(ends.server.connections.map(({ received }) => received).join(), '/one');
    },
  );

  t.test(
    'a request that is cancelled just before it is sent leaves its connection to the next',
    async (t) => {
      const ends = await poolFor(t, 1);
      const connection = await warm(ends);
      const one = ends.ask({ target: '/one' });
      const two = ends.ask({ target: '/two' });
      one.pending?.cancel();
      await connection.until('/two');
      connection.send(answer('two'));
      await two.ended;
      t.same([one.calls, two.content], [[], 'two']);
      t.notMatch(connection.received, '/one');
    },
  );

  t.test('thousands of cancelled requests open hardly any connection', async (t) => {
    const ends = await poolFor(t);
    for (let asked = 0; asked < 5_000; asked += 1) {
      ends.ask({ target: '/gone' }).pending?.cancel();
      if (asked % 100 === 0) await turn();
    }
    const one = ends.ask({ target: '/one' });
    await eventually(() => ends.server.connections.some(({ received }) => received.includes('/one')));
    const connection = ends.server.connections.find(({ received }) => received.includes('/one'));
    connection?.send(answer('one'));
    await one.ended;
    t.equal(one.content, 'one');
    t.ok(ends.sockets.length <= 2, 'one that is about to carry a request, and one being made meanwhile');
    t.notMatch(ends.server.connections.map(({ received }) => received).join(), '/gone');
  });

  t.test('a new connection without a request is not used if bytes arrived on it', async (t) => {
    const ends = await poolFor(t);
    ends.ask({ target: '/gone' }).pending?.cancel();
    const connection = await ends.server.next();
    await eventually(() => ends.sockets.length === 1);
    connection.send(answer('planted'));
    const one = ends.ask({ target: '/one' });
    const second = await ends.server.next('/one');
    second.send(answer('one'));
    await one.ended;
    t.equal(one.content, 'one');
    t.equal(connection.received, '');
  });

  t.test(
    'a new connection without a request is closed before the API server does so, and with the pool',
    async (t) => {
      const ends = await poolFor(t);
      ends.ask({ target: '/gone' }).pending?.cancel();
      const connection = await ends.server.next();
      await eventually(() => ends.sockets.length === 1);
      ends.clock.advance(28_000);
      const one = ends.ask({ target: '/one' });
      await connection.untilEnd();
      const second = await ends.server.next('/one');
      second.send(answer('one'));
      await one.ended;
      t.equal(connection.received, '');

      ends.ask({ target: '/two' });
      ends.ask({ target: '/gone' }).pending?.cancel();
      const third = await ends.server.next();
      void ends.pool.close();
      await third.untilEnd();
    },
  );

  t.test(
    'a request for which none becomes free in time fails unsent, and does not delay the others',
    async (t) => {
      const ends = await poolFor(t, 1);
      const one = ends.ask({ target: '/one' });
      const connection = await ends.server.next('/one');
      const two = ends.ask({ target: '/two' });
      ends.clock.advance(QUEUE_TIMEOUT / 2);
      const three = ends.ask({ target: '/three' });
      ends.clock.advance(QUEUE_TIMEOUT / 2 - 1);
      t.same(two.calls, []);
      ends.clock.advance(1);
      t.same([two.calls, three.calls], [['onFailure'], []]);
      t.match(two.error, { code: 'QUEUE_TIMEOUT', message: 'no connection became free' });
      connection.send(answer('one'));
      await connection.until('/three');
      ends.clock.advance(QUEUE_TIMEOUT);
      connection.send(answer('three'));
      await three.ended;
      t.same([one.content, three.content], ['one', 'three'], 'the limit is over once it is sent');
      t.notMatch(connection.received, '/two');
    },
  );

  t.test('a request whose connection breaks just before it is sent keeps its place', async (t) => {
    const ends = await poolFor(t, 1);
    const asked = ['/1', '/2', '/3', '/4'].map((target) => ends.ask({ target }));
    for (const [index, each] of asked.entries()) {
      const connection = await ends.server.next();
      await connection.until(`/${index + 1} `);
      connection.send(`${answer('one')}and what was not requested`);
      await each.ended;
      t.equal(each.content, 'one');
    }
  });

  t.test('all requests fail if the API server accepts no connection', async (t) => {
    const { ask, pool } = createTestPool({ server: 'http://127.0.0.1:1' }, 1);
    const asked = [ask({ target: '/1' }), ask({ target: '/2' }), ask({ target: '/3' })];
    await Promise.all(asked.map(({ ended }) => ended));
    for (const each of asked) {
      t.same(each.calls, ['onFailure']);
      t.match(each.error, { code: 'ECONNREFUSED' });
    }
    await pool.close();
  });

  t.test(
    'only one request fails with a connection that times out or breaks while it is opened',
    async (t) => {
      const ends = await poolFor(t, 1, 'https');
      const [one, two, three] = ['/1', '/2', '/3'].map((target) => ends.ask({ target }));
      const first = await ends.server.next();
      ends.clock.advance(CONNECT_TIMEOUT);
      await one?.ended;
      t.match(one?.error, { code: 'CONNECT_TIMEOUT' });
      await first.untilEnd();
      (await ends.server.next()).reset();
      await two?.ended;
      t.match(two?.error, { code: 'ECONNRESET' });
      await ends.server.next();
      t.same(three?.calls, []);
      t.equal(ends.clock.pending, 2, 'the limits of the third: to connect and to wait');
    },
  );
});

t.test('a response handler that pauses', async (t) => {
  t.test('receives nothing until it resumes', async (t) => {
    const ends = await poolFor(t);
    const one = ends.ask({ target: '/one' }, (call) => call === 'onHead' && one.pending?.pause());
    const connection = await ends.server.next('/one');
    connection.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
    await eventually(() => ends.sockets[0]?.isPaused() === true);
    connection.send('late');
    await turn();
    await turn();
    t.equal(one.content, '');
    one.pending?.resume();
    await one.ended;
    t.equal(one.content, 'late');
  });

  t.test('has no effect on the next response after its own has ended', async (t) => {
    const ends = await poolFor(t);
    const one = ends.ask({ target: '/one' });
    const connection = await ends.server.next('/one');
    connection.send(answer('one'));
    await one.ended;
    const two = ends.ask({ target: '/two' }, (call) => call === 'onHead' && two.pending?.pause());
    await connection.until('/two');
    one.pending?.pause();
    t.notOk(ends.sockets[0]?.isPaused());
    connection.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n');
    await eventually(() => ends.sockets[0]?.isPaused() === true);
    one.pending?.resume();
    t.ok(ends.sockets[0]?.isPaused());
    one.pending?.cancel();
    two.pending?.resume();
    connection.send('two');
    await two.ended;
    t.equal(two.content, 'two');
    t.equal(ends.server.connections.length, 1);
  });
});

t.test('a pool that is closed', async (t) => {
  t.test('finishes running and queued requests, and closes idle connections', async (t) => {
    const ends = await poolFor(t, 1);
    const connection = await warm(ends);
    const running = ends.ask({ target: '/running' });
    const waiting = ends.ask({ target: '/waiting' });
    let closed = false;
    const done = ends.pool.close().then(() => {
      closed = true;
    });
    const late = ends.ask({ target: '/late' });
    t.same(late.calls, ['onFailure']);
    await connection.until('/running');
    connection.send(answer('left'));
    await connection.until('/waiting');
    t.notOk(closed);
    connection.send(answer('waited'));
    await done;
    t.same([running.content, waiting.content], ['left', 'waited']);
    await connection.untilEnd();
    t.equal(ends.clock.pending, 0);
  });

  t.test('waits for a request whose connection breaks just before it is sent', async (t) => {
    const ends = await poolFor(t);
    const connection = await warm(ends);
    connection.socket.end();
    await turn();
    const one = ends.ask({ target: '/one' });
    let closed = false;
    const done = ends.pool.close().then(() => {
      closed = true;
    });
    const second = await ends.server.next('/one');
    t.notOk(closed);
    second.send(answer('one'));
    await done;
    t.equal(one.content, 'one');
  });
});

t.test('a TLS session', async (t) => {
  const authority = await createAuthority();
  const pair = await authority.server('kube-apiserver');
  const server = tls.createServer({ ...pair }, (socket) => {
    socket.on('error', () => undefined).on('data', () => socket.write(answer('secure', 'Connection: close')));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const connection = { server: `https://127.0.0.1:${address.port}`, ca: authority.cert };
  t.teardown(() => server.close());

  const askTwice = async ({ ask, sockets }: TestPool) => {
    const reused: boolean[] = [];
    for (const target of ['/1', '/2'])
      await ask({ target }, (call) => {
        const socket = sockets.at(-1);
        if (call === 'onHead') reused.push(socket instanceof TLSSocket && socket.isSessionReused());
      }).ended;
    return reused;
  };

  t.test('is resumed within a pool, never in another', async (t) => {
    const pools = [createTestPool(connection), createTestPool(connection)];
    for (const each of pools) t.same(await askTwice(each), [false, true]);
    await Promise.all(pools.map(({ pool }) => pool.destroy()));
  });
});
