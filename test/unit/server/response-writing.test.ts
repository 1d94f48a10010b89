/** Response heads, and the release of memory after a write, in both protocols. */
import t from 'tap';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { whenTaken } from '../../../src/server/response-writing.ts';
import { listenFor, readAll, request2 } from '../../support/server/listening.ts';

const LENGTH: HeaderList = [
  ['content-LENGTH', '5'],
  ['X-A', 'b'],
];

for (const status of [101, 199, 600, Number.NaN])
  t.test(`the status ${status} is never sent: the client gets a 500`, async (t) => {
    const listening = await listenFor(t, async ({ response }) => {
      response.writeHead(status, []);
      response.end();
    });
    const session = await listening.session();
    t.match(await request2(session, { ':path': '/' }), { status: 500, body: /"kind":"Status"/ });
    session.close();
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    t.match(await readAll(socket), /^HTTP\/1\.1 500 /);
  });

for (const status of [204, 205])
  t.test(`a ${status} is sent without its Content-Length`, async (t) => {
    const listening = await listenFor(t, async ({ response }) => {
      response.writeHead(status, LENGTH);
      response.end();
    });
    const session = await listening.session();
    const response = await request2(session, { ':path': '/' });
    t.match(response, { status, body: '', headers: { 'x-a': 'b' } });
    t.equal(response.headers['content-length'], undefined);
    session.close();
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const received = await readAll(socket);
    t.match(received, new RegExp(`^HTTP/1\\.1 ${status} `));
    t.notMatch(received, /content-length: 5/i);
  });

t.test('the memory of a write is released once, after it was written', async (t) => {
  let released = 0;
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(200, []);
    await new Promise<void>((resolve) => {
      response.write(Buffer.from('lent, '), () => {
        released += 1;
        resolve();
      });
    });
    response.end('given back');
  });

  t.test('over HTTP/1.1', async (t) => {
    released = 0;
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    t.match(await readAll(socket), /lent, [\s\S]*given back/);
    t.equal(released, 1);
  });

  t.test('over HTTP/2', async (t) => {
    released = 0;
    const session = await listening.session();
    t.teardown(() => session.destroy());
    t.equal((await request2(session, { ':path': '/' })).body, 'lent, given back');
    t.equal(released, 1);
  });
});

t.test('the memory of a failed write is not released, since it may still be in use', async (t) => {
  let released = 0;
  const callback = whenTaken(() => {
    released += 1;
  });
  callback?.(new Error('the client disconnected'));
  t.equal(released, 0);
  callback?.(null);
  callback?.();
  t.equal(released, 2);
});
