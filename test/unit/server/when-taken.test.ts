/** When memory that was lent to an answer may be used again, in both protocols. */
import t from 'tap';
import { whenTaken } from '../../../src/server/when-taken.ts';
import { readAll, request2, startListener } from '../../support/server/listening.ts';

t.test('memory that was lent to a write is given back once, when the write has left', async (t) => {
  let givenBack = 0;
  const listening = await startListener(async ({ response }) => {
    response.writeHead(200, []);
    await new Promise<void>((resolve) => {
      response.write(Buffer.from('lent, '), () => {
        givenBack += 1;
        resolve();
      });
    });
    response.end('given back');
  });
  t.teardown(() => listening.close());

  t.test('over HTTP/1.1', async (t) => {
    givenBack = 0;
    const socket = await listening.socket();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    t.match(await readAll(socket), /lent, [\s\S]*given back/);
    t.equal(givenBack, 1);
  });

  t.test('over HTTP/2', async (t) => {
    givenBack = 0;
    const session = await listening.session();
    t.teardown(() => session.destroy());
    t.equal((await request2(session, { ':path': '/' })).body, 'lent, given back');
    t.equal(givenBack, 1);
  });
});

t.test('memory of a write that failed is not given back: what holds it still is not known', async (t) => {
  let givenBack = 0;
  const told = whenTaken(() => {
    givenBack += 1;
  });
  told?.(new Error('the client has left'));
  t.equal(givenBack, 0);
  told?.(null);
  told?.();
  t.equal(givenBack, 2);
});

t.test('nobody is called back for a write that lends nothing', async (t) => {
  t.equal(whenTaken(undefined), undefined);
});
