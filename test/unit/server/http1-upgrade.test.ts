/** Upgrade requests. */
import { once } from 'node:events';
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { toStatus } from '../../../src/errors/to-status.ts';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { writeStatus } from '../../../src/server/status-writer.ts';
import { listenFor, readAll, readSome } from '../../support/server/listening.ts';

const EXEC =
  'POST /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n';

const refuseAll = async ({ response }: Exchange) => {
  writeStatus(response, toStatus(new StatusError('AccessDenied', 'no'), 'audit-1'), 'audit-1');
};

t.test('a refused upgrade gets a Status, and then the socket closes', async (t) => {
  const listening = await listenFor(t, refuseAll);
  const socket = await listening.socket();
  socket.write(EXEC);
  const answer = await readAll(socket);
  t.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n/);
  t.match(answer, /\r\nAudit-Id: audit-1\r\n/);
  t.match(answer, /\r\nConnection: close\r\n/);
  t.match(answer, '"message":"no"');
});

t.test('C190 an Upgrade field without Connection: Upgrade is an ordinary request', async (t) => {
  let asked = true;
  const listening = await listenFor(t, async (exchange) => {
    asked = exchange.upgrade !== undefined;
    await refuseAll(exchange);
  });
  const socket = await listening.socket();
  socket.write(
    'POST / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
  );
  t.match(await readAll(socket), /^HTTP\/1\.1 403 /);
  t.equal(asked, false);
});

const MALFORMED: Readonly<Record<string, string>> = {
  'with a body': EXEC.replace('Length: 0', 'Length: 5'),
  'with a chunked body': EXEC.replace('Content-Length: 0', 'Transfer-Encoding: chunked'),
  'to two protocols at once': EXEC.replace('SPDY/3.1', 'SPDY/3.1, websocket'),
  'to plain HTTP/2': EXEC.replace('SPDY/3.1', 'h2c'),
  'on HTTP/2.0': EXEC.replace('HTTP/1.1', 'HTTP/2.0'),
  'with two Hosts': EXEC.replace('Host: x', 'Host: x\r\nHost: y'),
};
for (const [what, bytes] of Object.entries(MALFORMED))
  t.test(`an upgrade ${what} is refused with 400`, async (t) => {
    const listening = await listenFor(t, refuseAll);
    const socket = await listening.socket();
    socket.write(bytes);
    t.match(await readAll(socket), /^HTTP\/1\.1 400 [\s\S]*"kind":"Status"/);
  });

t.test('an upgrade after a pending response closes the connection', async (t) => {
  const listening = await listenFor(t, () => new Promise(() => {}));
  const socket = await listening.socket();
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${EXEC}`);
  t.equal(await readAll(socket), '');
});

t.test('a long refusal waits for a slow reader', async (t) => {
  const drained = Promise.withResolvers<void>();
  const listening = await listenFor(t, async ({ response }) => {
    response.writeHead(500, []);
    while (response.write(Buffer.alloc(65_536)));
    response.onDrain(() => {
      drained.resolve();
      response.end('end');
    });
  });
  const socket = await listening.socket();
  socket.write(EXEC);
  t.match(await readSome(socket), /^HTTP\/1\.1 500 /);
  const rest = readAll(socket);
  await drained.promise;
  t.match(await rest, /end\r\n0\r\n\r\n$/);
});

t.test('the signal aborts if the client disconnects before its upgrade is decided', async (t) => {
  const asked = Promise.withResolvers<AbortSignal>();
  const listening = await listenFor(t, async ({ signal }) => {
    asked.resolve(signal);
    await once(signal, 'abort');
  });
  const socket = await listening.socket();
  socket.write(EXEC);
  const signal = await asked.promise;
  const gone = once(signal, 'abort');
  socket.destroy();
  await gone;
  t.equal(signal.aborted, true);
});
