/** A listener that stops while a client is in its TLS handshake: the client's first request is served. */
import { connect as connectH2 } from 'node:http2';
import { connect as connectTLS } from 'node:tls';
import t from 'tap';
import {
  authority,
  heldConnection,
  readAll,
  request2,
  startListener,
} from '../../support/server/listening.ts';

t.test('over HTTP/1.1', async (t) => {
  const { listener, port } = await startListener();
  const { connection, answered, release } = await heldConnection(port);
  const client = connectTLS({ socket: connection, servername: 'localhost', ca: authority.cert });
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await answered;
  const closed = listener.close(60_000);
  release();
  t.match(await readAll(client), /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
  await closed;
});

t.test('over HTTP/2', async (t) => {
  const { listener, port } = await startListener();
  const { connection, answered, release } = await heldConnection(port);
  const client = connectTLS({
    socket: connection,
    servername: 'localhost',
    ca: authority.cert,
    ALPNProtocols: ['h2'],
  });
  const session = connectH2('https://localhost', { createConnection: () => client });
  const response = request2(session, { ':path': '/' });
  await answered;
  const closed = listener.close(60_000);
  release();
  t.match(await response, { status: 200 });
  await closed;
});

t.test('without a request the connection ends with the grace period', async (t) => {
  const { listener, port } = await startListener();
  const { connection, answered, release } = await heldConnection(port);
  const client = connectTLS({
    socket: connection,
    servername: 'localhost',
    ca: authority.cert,
    ALPNProtocols: ['h2'],
  });
  client.on('error', () => client.destroy());
  await answered;
  const closed = listener.close(100);
  release();
  await closed;
  t.equal(listener.activeConnections, 0);
});
