/** HTTP/2 of clients and attackers. */
import { once } from 'node:events';
import { constants } from 'node:http2';
import t from 'tap';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { answerOf, echoTarget, listenFor, readAll, request2 } from '../../support/server/listening.ts';
import {
  FRAME,
  frame,
  GET_ROOT,
  goawayCodes,
  HELLO,
  PREFACE,
  uint32,
} from '../../support/server/raw-http2.ts';

const H2 = { ALPNProtocols: ['h2'] };

t.test('a request gets its response', async (t) => {
  const seen: Exchange[] = [];
  const listening = await listenFor(t, async (exchange) => {
    seen.push(exchange);
    await echoTarget(exchange);
  });
  const session = await listening.session();
  const answer = await request2(session, { ':path': '/a?b=c', 'x-one': ['1', '2'] });
  t.match(answer, { status: 200, body: '/a?b=c' });
  const { headers, httpVersion, method, peerAddress, upgrade } = seen[0] ?? {};
  t.same(headers, [
    ['x-one', '1'],
    ['x-one', '2'],
  ]);
  t.match(
    { httpVersion, method, peerAddress },
    { httpVersion: '2.0', method: 'GET', peerAddress: '127.0.0.1' },
  );
  t.equal(upgrade, undefined);
  session.close();
});

t.test('a response before the body was read is complete, and the upload is stopped', async (t) => {
  const listening = await listenFor(t, async ({ body, response }) => {
    await once(body, 'data');
    body.pause();
    response.writeHead(413, []);
    response.end('too large');
  });
  const session = await listening.session();
  const stream = session.request({ ':path': '/', ':method': 'POST' });
  stream.write(Buffer.alloc(1_000_000));
  stream.on('error', () => stream.destroy());
  const closed = new Promise((resolve) => stream.once('close', resolve));
  t.match(await answerOf(stream), { status: 413, body: 'too large' });
  await closed;
  t.match(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  session.close();
});

for (const status of [204, 205, 304])
  t.test(`a ${status} has no body, even if one is written`, async (t) => {
    const listening = await listenFor(t, async ({ response }) => {
      response.writeHead(status, []);
      response.write(Buffer.from('x'));
      response.end('y');
    });
    const session = await listening.session();
    t.match(await request2(session, { ':path': '/' }), { status, body: '' });
    session.close();
  });

t.test('a header that HTTP/2 cannot carry is a 500, not a stream that hangs', async (t) => {
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(200, [
      ['Content-Type', 'a'],
      ['content-type', 'b'],
    ]);
  });
  const session = await listening.session();
  t.match(await request2(session, { ':path': '/' }), { status: 500, body: /InternalError/ });
  session.close();
});

t.test('a head beyond the limit is refused with 431', async (t) => {
  const listening = await listenFor(t, echoTarget, { limits: { headerBytes: 8_192 } });
  const session = await listening.session();
  const answer = await request2(session, { ':path': '/', 'x-a': 'a'.repeat(9_000) });
  t.match(answer, { status: 431, body: /RequestHeaderFieldsTooLarge/ });
  session.close();
});

t.test('a head far beyond the limit resets its stream and leaves the others alone', async (t) => {
  const listening = await listenFor(t, echoTarget, { limits: { headerBytes: 8_192 } });
  const session = await listening.session();
  const large = session.request({ ':path': '/', 'x-a': 'a'.repeat(40_000) });
  large.on('error', () => large.destroy());
  await new Promise((resolve) => large.once('close', resolve));
  t.match(await request2(session, { ':path': '/' }), { status: 200 });
  session.close();
});

t.test('CONNECT is refused with 405, and extended CONNECT is not offered', async (t) => {
  const listening = await listenFor(t);
  const session = await listening.session();
  t.equal(session.remoteSettings.enableConnectProtocol, false);
  t.match(await request2(session, { ':method': 'CONNECT', ':authority': 'x:443' }), { status: 405 });
  session.close();
});

t.test('a client that expects 100-continue gets it when its body is read, and not before', async (t) => {
  const listening = await listenFor(t, async ({ target, body, response }) => {
    if (target === '/read') await body.toArray();
    response.writeHead(target === '/read' ? 200 : 401, []);
    response.end();
  });
  const session = await listening.session();
  for (const [path, status, expected] of [
    ['/refuse', 401, 0],
    ['/read', 200, 1],
  ] as const) {
    let continues = 0;
    const stream = session.request({ ':path': path, ':method': 'POST', expect: '100-continue' });
    stream.on('continue', () => {
      continues += 1;
      stream.end('body');
    });
    t.match(await answerOf(stream), { status });
    t.equal(continues, expected);
  }
  session.close();
});

t.test('an unknown expectation is refused with 417', async (t) => {
  const listening = await listenFor(t);
  const session = await listening.session();
  t.match(await request2(session, { ':path': '/', expect: 'cake' }), { status: 417 });
  session.close();
});

t.test('an error during a response resets the stream', async (t) => {
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(200, []);
    response.write(Buffer.from('half'));
    throw new Error('broken');
  });
  const session = await listening.session();
  const stream = session.request({ ':path': '/' });
  stream.resume();
  const error = await new Promise((resolve) => stream.once('error', resolve));
  t.match(error, { code: 'ERR_HTTP2_STREAM_ERROR', message: /INTERNAL_ERROR/ });
  session.close();
});

t.test('C208 a flow-control window overflow closes the connection and frees the session', async (t) => {
  const listening = await listenFor(t);
  const socket = await listening.socket(H2);
  socket.write(HELLO);
  socket.write(frame(FRAME.windowUpdate, 0, 0, uint32(0x7fffffff)));
  const codes = goawayCodes(await readAll(socket));
  t.same(codes.slice(0, 1), [constants.NGHTTP2_FLOW_CONTROL_ERROR]);
  await eventually(() => listening.listener.activeConnections === 0);
});

t.test('a client that reads nothing loses its responses, then its connection', async (t) => {
  const clock = createFakeClock();
  const signals: AbortSignal[] = [];
  const listening = await listenFor(
    t,
    async ({ response, signal }) => {
      signals.push(signal);
      response.writeHead(200, []);
      while (!signal.aborted) {
        if (response.write(Buffer.alloc(65_536))) continue;
        await Promise.race([
          new Promise<void>((resolve) => response.onDrain(resolve)),
          once(signal, 'abort'),
        ]);
      }
    },
    { clock },
  );
  const socket = await listening.socket(H2);
  socket.on('error', () => socket.destroy());
  socket.pause();
  const window = frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(0x7fffffff)]));
  const more = frame(FRAME.windowUpdate, 0, 0, uint32(0x3fffffff));
  socket.write(Buffer.concat([PREFACE, window, more, frame(FRAME.headers, 5, 1, GET_ROOT)]));
  await eventually(() => signals.length === 1);
  await eventually(() => {
    clock.advance(10_000);
    return listening.listener.activeConnections === 0;
  });
  t.ok(signals[0]?.aborted);
});

t.test('timeouts of HTTP/2 connections', async (t) => {
  const clock = createFakeClock();
  const listening = await listenFor(t, echoTarget, {
    clock,
    timeouts: { header: 10_000, idle: 60_000, stall: 60_000 },
  });

  t.test('a client that sends half of a request head is disconnected', async (t) => {
    const socket = await listening.socket(H2);
    const received = readAll(socket);
    socket.write(HELLO);
    socket.write(frame(FRAME.headers, 0, 1, GET_ROOT.subarray(0, 1)));
    await eventually(() => clock.pending > 0 && socket.bytesRead > 0);
    let closed = false;
    socket.once('close', () => {
      closed = true;
    });
    await eventually(() => {
      clock.advance(10_000);
      return closed;
    });
    await received;
    t.equal(clock.pending, 0);
  });

  for (const [what, hello] of [
    ['no preface', Buffer.alloc(0)],
    ['half of the preface', PREFACE.subarray(0, 10)],
    ['nothing but PINGs', HELLO],
  ] as const)
    t.test(`a client that sends ${what} is disconnected`, async () => {
      const socket = await listening.socket(H2);
      const received = readAll(socket);
      let closed = false;
      socket.once('close', () => {
        closed = true;
      });
      socket.write(hello);
      await eventually(() => {
        if (hello === HELLO) socket.write(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
        clock.advance(10_000);
        return closed;
      });
      await received;
    });

  t.test('an idle client is sent GOAWAY', async (t) => {
    const session = await listening.session();
    await request2(session, { ':path': '/' });
    clock.advance(50_000);
    t.match(await request2(session, { ':path': '/' }), { status: 200 });
    const goaway = once(session, 'goaway');
    await eventually(() => clock.pending > 0);
    for (let tick = 0; tick < 7; tick += 1) clock.advance(10_000);
    t.same((await goaway)[0], constants.NGHTTP2_NO_ERROR);
  });
});
