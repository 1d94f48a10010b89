/** What of an answer's head reaches a client, in both protocols. */
import t from 'tap';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { checkedFields } from '../../../src/server/response-head.ts';
import { readAll, request2, startListener } from '../../support/server/listening.ts';

const LENGTH: HeaderList = [
  ['content-LENGTH', '5'],
  ['X-A', 'b'],
];

for (const status of [-1, 0, 100, 101, 103, 199, 200.5, 600, 999, Number.NaN]) {
  t.test(`the status ${status} never reaches a writer: the client gets a 500`, async (t) => {
    const listening = await startListener(async ({ response }) => {
      response.writeHead(status, []);
      response.end();
    });
    t.teardown(() => listening.close());
    const session = await listening.session();
    t.match(await request2(session, { ':path': '/' }), { status: 500, body: /"kind":"Status"/ });
    session.close();
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    t.match(await readAll(socket), /^HTTP\/1\.1 500 /);
  });
}

for (const status of [204, 205]) {
  t.test(`a ${status} that came with a length is complete without it`, async (t) => {
    const listening = await startListener(async ({ response }) => {
      response.writeHead(status, LENGTH);
      response.end();
    });
    t.teardown(() => listening.close());
    const session = await listening.session();
    const answer = await request2(session, { ':path': '/' });
    t.match(answer, { status, body: '', headers: { 'x-a': 'b' } });
    t.equal(answer.headers['content-length'], undefined);
    session.close();
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const received = await readAll(socket);
    t.match(received, new RegExp(`^HTTP/1\\.1 ${status} `));
    t.notMatch(received, /content-length: 5/i);
  });
}

t.test('all other final statuses keep their fields', async (t) => {
  for (const status of [200, 206, 304, 404, 599]) t.same(checkedFields(status, LENGTH), LENGTH);
});
