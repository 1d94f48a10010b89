/** TLS, ALPN, timeouts and shutdown of a listener. */
import { once } from 'node:events';
import { connect as connectTCP } from 'node:net';
import t from 'tap';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  authority,
  certificate,
  echoTarget,
  type Listening,
  listenFor,
  readAll,
  readSome,
  request2,
  socketInTime,
  startListener,
} from '../../support/server/listening.ts';
import { createAuthority } from '../../support/tls/authority.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

t.test('C153 with HTTP/2 off, a client that offers it is served over HTTP/1.1', async (t) => {
  const listening = await listenFor(t, echoTarget, { http2: false });
  const socket = await listening.socket({ ALPNProtocols: ['h2', 'http/1.1'] });
  t.equal(socket.alpnProtocol, 'http/1.1');
  socket.write(GET);
  t.match(await readSome(socket), /^HTTP\/1\.1 200 /);
  socket.destroy();
});

t.test('TLS 1.1 is refused, TLS 1.2 and 1.3 are accepted', async (t) => {
  const listening = await listenFor(t);
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await listening.socket({ minVersion: version, maxVersion: version });
    t.equal(socket.getProtocol(), version);
    socket.destroy();
  }
  await t.rejects(
    listening.socket({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  );
});

t.test('a certificate with another key is refused and the last valid one stays', async (t) => {
  const listening = await listenFor(t);
  const { cert } = await authority.server('renewed');
  t.throws(() => listening.listener.prepareTLS({ cert, key: certificate.key }));
  t.throws(() => listening.listener.prepareTLS({ cert: 'no PEM', key: 'no PEM' }));
  const socket = await listening.socket();
  t.equal(socket.getPeerCertificate().subject.CN, 'stonegate');
  socket.destroy();
});

t.test('with a client CA only clients with its certificates may connect', async (t) => {
  const other = await createAuthority();
  const tls = { ...certificate, clientCA: authority.cert };
  const listening = await listenFor(t, echoTarget, { tls });

  const talk = async (credential: object) => {
    const socket = await listening.socket(credential);
    socket.on('error', () => socket.destroy());
    socket.write(GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    return readAll(socket);
  };
  t.match(await talk(await authority.client('alice')), /^HTTP\/1\.1 200 /);
  t.equal(await talk({}), '');
  t.equal(await talk(await other.client('alice')), '');
  t.throws(() => listening.listener.prepareTLS(certificate), /restart/);

  listening.listener.prepareTLS({ ...certificate, clientCA: other.cert })();
  t.match(await talk(await other.client('bob')), /^HTTP\/1\.1 200 /);
});

t.test('an address in use and a malformed address are errors', async (t) => {
  const listening = await listenFor(t);
  const bind = `127.0.0.1:${listening.port}`;
  await t.rejects(startListener(echoTarget, { bind }), { message: `${bind} is in use` });
  await t.rejects(startListener(echoTarget, { bind: '192.0.2.1:0' }), {
    message: '192.0.2.1:0 is no address of this machine',
  });
  await t.rejects(startListener(echoTarget, { bind: 'nowhere' }), /no host:port/);
});

t.test('slow clients', async (t) => {
  const listening = await listenFor(t, echoTarget, {
    timeouts: { header: 50, idle: 60_000, stall: 60_000 },
  });

  t.test('a client without a handshake is disconnected', async (t) => {
    const socket = connectTCP(listening.port, '127.0.0.1');
    t.equal(await readAll(socket), '');
  });

  for (const [what, bytes] of [
    ['sends nothing', ''],
    ['sends half of a request head', 'GET / HTTP/1.1\r\nHo'],
  ])
    t.test(`a client that ${what} gets a 408 and is disconnected`, async (t) =>
      t.match(await refusalOf(listening, bytes), /^HTTP\/1\.1 408 [\s\S]*"reason":"Timeout"/),
    );
});

/** Retries if the handshake, which has the same timeout as a head, was aborted: the machine may be busy. */
async function refusalOf({ socket: connect }: Listening, bytes = '') {
  for (;;) {
    const socket = await connect().catch(() => undefined);
    if (socket === undefined) continue;
    const answers = readAll(socket);
    socket.write(bytes);
    const text = await answers;
    if (text !== '') return text;
  }
}

t.test('a body may take longer than a head', async (t) => {
  const begun = Promise.withResolvers<true>();
  const listening = await listenFor(
    t,
    async ({ body, response }) => {
      begun.resolve(true);
      response.writeHead(200, []);
      response.end(Buffer.concat(await body.toArray()));
    },
    { timeouts: { header: 50, idle: 60_000, stall: 60_000 } },
  );
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab';
  const { socket: slow, answers } = await socketInTime(listening, head, begun.promise);
  // Once later connections are closed as silent, the time for a head is over for this one as well.
  for (let others = 0; others < 3; others += 1) await readAll(connectTCP(listening.port, '127.0.0.1'));
  slow.write('cd');
  t.match(await answers, /^HTTP\/1\.1 200 [\s\S]*abcd/);
});

t.test('closing a listener', async (t) => {
  t.test('idle and silent connections are closed at once', async (t) => {
    const clock = createFakeClock();
    const listening = await startListener(echoTarget, { clock });
    const [idle, silent, session] = await Promise.all([
      listening.socket(),
      listening.socket(),
      listening.session(),
    ]);
    const untouched = connectTCP(listening.port, '127.0.0.1');
    await eventually(() => listening.listener.activeConnections === 4);
    idle.write(GET);
    await readSome(idle);
    await request2(session, { ':path': '/' });
    const closed = [readAll(idle), readAll(silent), readAll(untouched), once(session, 'close')];
    await listening.listener.close(30_000);
    await Promise.all(closed);
    t.equal(clock.pending, 0, 'no connection waits for the grace period');
  });
});
