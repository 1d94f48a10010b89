/** A draining listener: it serves everything, and asks clients to open their next connection elsewhere. */
import { once } from 'node:events';
import t from 'tap';
import type { Exchange } from '../../../src/pipeline/ports.ts';
import { eventually } from '../../support/eventually.ts';
import { echoTarget, readAll, readSome, request2, startListener } from '../../support/server/listening.ts';
import { END_HEADERS, END_STREAM, FRAME, frame, GET_ROOT, HELLO } from '../../support/server/raw-http2.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('an idle HTTP/1.1 connection stays open, and its next response closes it', async (t) => {
  const { listener, socket, close } = await startListener();
  t.teardown(close);
  const idle = await socket();
  idle.write(GET);
  t.notMatch(await readSome(idle), /Connection: close/i);
  listener.drain();
  idle.write(GET);
  t.match(await readAll(idle), /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
});

t.test('new connections are served, and closed after one response', async (t) => {
  const { listener, socket, close } = await startListener();
  t.teardown(close);
  listener.drain();
  const late = await socket();
  late.write(GET);
  t.match(await readAll(late), /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
});

t.test('a watch continues until the listener stops', async (t) => {
  const { listener, socket } = await startListener(async ({ response, stopping }: Exchange) => {
    response.writeHead(200, []);
    response.write(Buffer.from('an event'));
    stopping?.addEventListener('abort', () => response.end('the end'), { once: true });
  });
  const watch = await socket();
  watch.write(GET);
  await readSome(watch);
  listener.drain();
  const rest = readAll(watch);
  const other = await socket();
  other.write(GET);
  t.match(await readSome(other), 'an event', 'meanwhile another watch begins');
  await Promise.all([listener.close(30_000), readAll(other)]);
  t.match(await rest, 'the end');
});

t.test('an HTTP/2 session gets a GOAWAY that refuses no stream', async (t) => {
  const { listener, session: connect, close } = await startListener();
  t.teardown(close);
  const session = await connect();
  t.match(await request2(session, { ':path': '/' }), { status: 200 });
  const goaway = once(session, 'goaway');
  listener.drain();
  t.match(await goaway, [0, 2 ** 31 - 1]);
});

t.test('streams that the client opens before it reads the GOAWAY are served', async (t) => {
  let served = 0;
  const { listener, socket, close } = await startListener(async (exchange) => {
    served += 1;
    await echoTarget(exchange);
  });
  t.teardown(close);
  const client = await socket({ ALPNProtocols: ['h2'] });
  client.resume();
  client.write(HELLO);
  const get = (id: number) => client.write(frame(FRAME.headers, END_HEADERS | END_STREAM, id, GET_ROOT));
  get(1);
  await eventually(() => served === 1);
  listener.drain();
  get(3);
  await eventually(() => served === 2);
  t.equal(client.destroyed, false);
  client.destroy();
});

t.test('a new HTTP/2 session serves its first stream before its GOAWAY', async (t) => {
  const { listener, session: connect, close } = await startListener();
  t.teardown(close);
  listener.drain();
  const session = await connect();
  const goaway = once(session, 'goaway');
  t.match(await request2(session, { ':path': '/' }), { status: 200 });
  t.match(await goaway, [0, 2 ** 31 - 1]);
});
