/** HTTP/1.1 of clients and attackers. */
import { once } from 'node:events';
import t from 'tap';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { echoTarget, listenFor, readAll, readSome } from '../../support/server/listening.ts';

/** Sends bytes over TLS and returns all bytes until the listener closes the connection. */
async function talk(test: Teardown, bytes: string, serve = echoTarget) {
  const listening = await listenFor(test, serve);
  const socket = await listening.socket();
  socket.write(bytes, 'latin1');
  return readAll(socket);
}

interface Teardown {
  teardown(action: () => Promise<void>): unknown;
}

function statusOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
}

t.test('two requests on one connection get their responses', async (t) => {
  const seen: Exchange[] = [];
  const answer = await talk(
    t,
    'GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nx-one: 2\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    async (exchange) => {
      seen.push(exchange);
      await echoTarget(exchange);
    },
  );
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  t.match(answer, /\/a\?b=c\r\n/);
  t.match(answer, /\/b\r\n0\r\n\r\n$/);
  t.same(seen[0]?.headers.slice(1), [
    ['X-One', '1'],
    ['x-one', '2'],
  ]);
  t.equal(seen[0]?.peerAddress, '127.0.0.1');
  t.equal(seen[0]?.httpVersion, '1.1');
});

const SMUGGLED: Readonly<Record<string, string>> = {
  'Content-Length with Transfer-Encoding':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding with Content-Length':
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
  'a folded field': 'GET / HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n',
  'bare line feeds': 'GET / HTTP/1.1\nHost: x\n\n',
  'a bare line feed after a field': 'GET / HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n',
  'two equal Content-Lengths':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
  'two Content-Lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
  'a list of Content-Lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc',
  'a space before the colon': 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
  'an encoding after chunked': 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n',
  'an encoding before chunked':
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n',
  'an unknown encoding': 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\nabc',
  'chunked on HTTP/1.0': 'POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'two Hosts': 'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
  'no Host': 'GET / HTTP/1.1\r\n\r\n',
  'the version 2.0': 'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
  'the version 0.9': 'GET / HTTP/0.9\r\nHost: x\r\n\r\n',
  'the version 1.2': 'GET / HTTP/1.2\r\nHost: x\r\n\r\n',
};

for (const [what, bytes] of Object.entries(SMUGGLED))
  t.test(`C209 ${what} is refused with 400 and the connection closed`, async (t) => {
    let served = 0;
    const answer = await talk(t, bytes, async (exchange) => {
      served += 1;
      await echoTarget(exchange);
    });
    t.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
    t.match(answer, /\r\nConnection: close\r\n/i);
    t.match(answer, /\r\nAudit-Id: [0-9a-f-]{36}\r\n/);
    t.match(statusOf(answer), { kind: 'Status', code: 400, reason: 'BadRequest' });
    t.equal(served, 0);
  });

t.test('header bytes beyond ASCII reach the client unchanged, also before a body', async (t) => {
  const zoe = Buffer.from('Zoë').toString('latin1');
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(200, [['X-Name', zoe]]);
    await eventually(() => response.closed);
  });
  const socket = await listening.socket();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [head] = await once(socket, 'data');
  t.match(head.toString('utf8'), /X-Name: Zoë\r\n/);
  socket.destroy();
});

t.test('a request head beyond the limit is refused with 431', async (t) => {
  const answer = await talk(t, `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(70_000)}\r\n\r\n`);
  t.match(answer, /^HTTP\/1\.1 431 /);
  t.match(statusOf(answer), { code: 431, reason: 'RequestHeaderFieldsTooLarge' });
});

t.test(
  '500 fields are read; a request with more is refused, so that no field is silently dropped',
  async (t) => {
    const served: number[] = [];
    const withFields = (count: number) =>
      talk(
        t,
        `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a: b\r\n'.repeat(count - 2)}\r\n`,
        async (exchange) => {
          served.push(exchange.headers.length);
          await echoTarget(exchange);
        },
      );
    await withFields(500);
    for (const count of [501, 502, 600, 3_000])
      t.match(await withFields(count), /^HTTP\/1\.1 431 /, `${count}`);
    t.same(served, [500]);
  },
);

t.test('CONNECT is refused with 405', async (t) => {
  const answer = await talk(t, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 405 /);
  t.match(statusOf(answer), { code: 405, reason: 'MethodNotAllowed' });
});

t.test('an unknown expectation is refused with 417', async (t) => {
  const answer = await talk(t, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: cake\r\n\r\n');
  t.match(answer, /^HTTP\/1\.1 417 /);
});

t.test('a client that disconnects while it sends a body ends only its own request', async (t) => {
  const left = Promise.withResolvers<boolean>();
  const listening = await listenFor(t, async ({ body, signal }) => {
    body.resume();
    signal.addEventListener('abort', () => left.resolve(true));
    await left.promise;
  });
  const socket = await listening.socket();
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
  await readSome(socket);
  socket.write('he', () => socket.destroy());
  t.equal(await left.promise, true);
});

t.test('a response before the body was read leaves the connection usable', async (t) => {
  const answer = await talk(
    t,
    `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n${'a'.repeat(20_000)}GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  t.match(answer, /\/a\r\n[\s\S]*\/b\r\n/);
});

t.test('a client that continues to send an unread body is disconnected', async (t) => {
  const listening = await listenFor(t);
  const socket = await listening.socket();
  const closed = readAll(socket);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  const chunk = `4000\r\n${'a'.repeat(0x4000)}\r\n`;
  const pump = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', pump);
  pump();
  await closed;
  await eventually(() => listening.listener.activeConnections === 0);
});

t.test('a pipelined request is served after the previous response is sent, not before', async (t) => {
  const served: string[] = [];
  const first = Promise.withResolvers<void>();
  const listening = await listenFor(t, async (exchange) => {
    served.push(exchange.target);
    if (exchange.target === '/1') await first.promise;
    await echoTarget(exchange);
  });
  const socket = await listening.socket();
  const all = readAll(socket);
  const last = 'GET /4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  socket.write(`${[1, 2, 3].map((n) => `GET /${n} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')}${last}`);
  await eventually(() => served.length === 1);
  await new Promise(setImmediate);
  t.same(served, ['/1']);
  first.resolve();
  t.match(await all, /\/1\r\n[\s\S]*\/2\r\n[\s\S]*\/3\r\n[\s\S]*\/4\r\n/);
  t.same(served, ['/1', '/2', '/3', '/4']);
});

t.test(
  'for a client that reads nothing, only one response is produced, however many requests it sends',
  async (t) => {
    let served = 0;
    const listening = await listenFor(t, async ({ response }) => {
      served += 1;
      response.writeHead(200, [['Content-Length', '30000000']]);
      response.end(Buffer.alloc(30_000_000));
    });
    const socket = await listening.socket();
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5));
    await eventually(() => served === 1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    t.equal(served, 1);
    socket.destroy();
  },
);

t.test('a waiting pipelined request with a body times out', async (t) => {
  const clock = createFakeClock();
  const begun = Promise.withResolvers<AbortSignal>();
  const listening = await listenFor(
    t,
    async ({ response, signal }) => {
      begun.resolve(signal);
      response.writeHead(200, []);
      await once(signal, 'abort');
    },
    { clock },
  );
  const socket = await listening.socket();
  const all = readAll(socket);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const signal = await begun.promise;
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n${'a'.repeat(100_000)}`);
  await eventually(() => {
    clock.advance(1_000);
    return signal.aborted;
  });
  t.match(await all, /^HTTP\/1\.1 200 /);
});

t.test('a flood of pipelined requests ends the connection', async (t) => {
  let served = 0;
  const answer = await talk(t, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000), async () => {
    served += 1;
    await new Promise(() => {});
  });
  t.equal(answer, '');
  t.equal(served, 1);
});

t.test('a disconnect during an unread body is noticed once the response has begun', async (t) => {
  for (const size of [0, 1_000, 100_000, 5_000_000]) {
    const begun = Promise.withResolvers<AbortSignal>();
    const listening = await listenFor(t, async ({ response, signal }) => {
      begun.resolve(signal);
      response.writeHead(200, []);
      if (!signal.aborted) await once(signal, 'abort');
    });
    const socket = await listening.socket();
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.write('GET /watch HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n');
    socket.write(Buffer.alloc(size));
    const signal = await begun.promise;
    socket.end();
    await eventually(() => signal.aborted);
    socket.destroy();
  }
});

for (const [what, serve] of [
  ['that fails', () => Promise.reject(new Error('secret detail'))],
  ['without a response', async () => {}],
  ['that sends an impossible header', async ({ response }) => response.writeHead(200, [['X-A', 'a\r\nb']])],
] as [string, (exchange: Exchange) => Promise<void>][])
  t.test(`a handler ${what} is a 500 without detail`, async (t) => {
    const answer = await talk(t, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', serve);
    t.match(answer, /^HTTP\/1\.1 500 /);
    t.match(statusOf(answer), { code: 500, reason: 'InternalError' });
    t.notMatch(answer, 'secret detail');
  });

t.test('an error during a response closes the connection', async (t) => {
  const answer = await talk(t, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', async ({ response }) => {
    response.writeHead(200, []);
    response.write(Buffer.from('half'));
    throw new Error('broken');
  });
  t.notMatch(answer, '500');
  t.notMatch(answer, /0\r\n\r\n$/);
});
