/** A draining listener: it serves everything, and asks clients to open their next connection elsewhere. */
import { once } from 'node:events';
import t from 'tap';
import { eventually } from '../../support/eventually.ts';
import { echoTarget, listenFor, readAll, readSome, request2 } from '../../support/server/listening.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET_ROOT,
  HELLO,
  lastStreams,
} from '../../support/server/raw-http2.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('an idle HTTP/1.1 connection stays open, and its next response closes it', async (t) => {
  const { listener, socket } = await listenFor(t);
  const idle = await socket();
  idle.write(GET);
  t.notMatch(await readSome(idle), /Connection: close/i);
  listener.drain();
  idle.write(GET);
  t.match(await readAll(idle), /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
});

t.test(
  'an HTTP/2 session learns which stream is its last; a request in flight gets its response',
  async (t) => {
    const release = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const { listener, session: connect } = await listenFor(t, async (exchange) => {
      arrived.resolve();
      await release.promise;
      await echoTarget(exchange);
    });
    const session = await connect();
    const inFlight = request2(session, { ':path': '/' });
    await arrived.promise;
    const goaway = once(session, 'goaway');
    listener.drain();
    t.match(await goaway, [0, 1], 'no error, stream 1');
    release.resolve();
    t.match(await inFlight, { status: 200 });
  },
);

t.test('a stream after the last one is not served, so the client may send it again', async (t) => {
  let served = 0;
  const { listener, socket } = await listenFor(t, async (exchange) => {
    served += 1;
    await echoTarget(exchange);
  });
  const client = await socket({ ALPNProtocols: ['h2'] });
  let received = '';
  client.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  client.write(HELLO);
  const get = (id: number) => client.write(frame(FRAME.headers, END_HEADERS | END_STREAM, id, GET_ROOT));
  get(1);
  await eventually(() => served === 1);
  listener.drain();
  await eventually(() => lastStreams(received).length > 0);
  get(3);
  await listener.close(30_000);
  t.same(new Set(lastStreams(received)), new Set([1]));
  t.equal(served, 1);
});

t.test('a new HTTP/2 session serves its first stream before its GOAWAY', async (t) => {
  const { listener, session: connect } = await listenFor(t);
  listener.drain();
  const session = await connect();
  const goaway = once(session, 'goaway');
  t.match(await request2(session, { ':path': '/' }), { status: 200 });
  t.match(await goaway, [0, 1]);
});
