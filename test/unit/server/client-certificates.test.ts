/** Client certificates: verification, its duration, and the attributes that are read. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTLS, type TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import type { ClientCertificate } from '../../../src/lib/client-certificate.ts';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  authority,
  certificate,
  heldConnection,
  listenFor,
  readAll,
  readSome,
  request2,
} from '../../support/server/listening.ts';
import { createIssuer, issuerOf, type Subject } from '../../support/tls/issuer.ts';

const HEAD = 'GET / HTTP/1.1\r\nHost: x\r\n';
const GET = `${HEAD}\r\n`;
const BOB: Subject = [['CN', 'acme:bob']];
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const company = createIssuer('company');
const foreign = createIssuer('foreign');

/** Long timeouts: connections are closed only because of certificates. */
const PATIENT = { header: 10_000, idle: 365 * DAY, stall: 365 * DAY };

/** Records the certificate and responds with whether it is verified; `/watch` does not end. */
async function setUp(t: Test, credentialCA = company.cert) {
  const clock = createFakeClock();
  const shown: (ClientCertificate | undefined)[] = [];
  const serve = async ({ response, target, clientCertificate, upgrade }: Exchange) => {
    shown.push(clientCertificate);
    response.writeHead(upgrade === undefined ? 200 : 403, []);
    const verdict = clientCertificate === undefined ? 'NONE' : clientCertificate.verified ? 'GOOD' : 'BAD';
    if (target === '/watch') response.write(Buffer.from(verdict));
    else response.end(verdict);
  };
  const listening = await listenFor(t, serve, {
    tls: { ...certificate, credentialCA },
    timeouts: PATIENT,
    clock,
  });
  return {
    ...listening,
    clock,
    shown,
    trust: (pem: string) => listening.listener.prepareTLS({ ...certificate, credentialCA: pem })(),
    /** Opens a connection and sends a request, to which it waits for the response. */
    async begun(credential: ConnectionOptions, head = GET) {
      const socket = await listening.socket(credential);
      socket.on('error', () => socket.destroy());
      socket.write(head);
      return { socket, answer: await readSome(socket), closed: closeOf(socket) };
    },
  };
}

async function closeOf(socket: Socket) {
  if (!socket.closed) await once(socket, 'close');
  return true;
}

/** Whether another request on the same connection gets a response. */
async function goesOn(socket: TLSSocket) {
  if (socket.destroyed) return false;
  socket.write(GET);
  return /^HTTP\/1\.1 200 /.test(await readSome(socket));
}

t.test('a certificate of the configured CA is verified, over HTTP/1.1, HTTP/2 and upgrades', async (t) => {
  const { begun, port, shown } = await setUp(t);
  const bob = company.issue([
    ['O', 'tenant:acme'],
    ['OU', 'dev'],
    ['OU', 'ops'],
    ['CN', 'bob'],
  ]);
  const { socket, answer } = await begun(bob);
  t.match(answer, /GOOD/);
  t.ok(await goesOn(socket));
  t.equal(shown[0], shown[1], 'the certificate is read once for each connection');
  t.match(shown[0], {
    verified: true,
    commonNames: ['bob'],
    organizations: ['tenant:acme'],
    organizationalUnits: ['dev', 'ops'],
    serialNumber: /^01[0-9a-f]{16}$/,
    fingerprint: /^[0-9a-f]{64}$/,
  });
  socket.destroy();
  const upgrade = await begun(bob, `${HEAD}Connection: Upgrade\r\nUpgrade: spdy/3.1\r\n\r\n`);
  t.match(upgrade.answer, /^HTTP\/1\.1 403 /);
  const session = connect(`https://localhost:${port}`, { ca: authority.cert, ...bob });
  t.teardown(() => session.destroy());
  t.equal((await request2(session, { ':path': '/' })).body, 'GOOD');
  t.same(shown.slice(2), [shown[0], shown[0]]);
});

t.test('C076 an unverified certificate is distinguished from no certificate', async (t) => {
  const { begun, shown } = await setUp(t);
  const wrong = {
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: foreign.issue(BOB),
    CERT_HAS_EXPIRED: company.issue(BOB, { notAfter: new Date(Date.now() - 1_000) }),
    INVALID_PURPOSE: company.issue(BOB, { forClients: false }),
    DEPTH_ZERO_SELF_SIGNED_CERT: createIssuer('acme:bob'),
  };
  for (const [problem, credential] of Object.entries(wrong)) {
    const { socket } = await begun(credential);
    t.same(shown.pop(), { verified: false, problem });
    socket.destroy();
  }
});

t.test('a chain through an intermediate that the client sends is verified', async (t) => {
  const { begun } = await setUp(t);
  const branch = company.issuer('branch');
  const bob = branch.issue(BOB);
  const { socket, answer } = await begun({ key: bob.key, cert: bob.cert + branch.cert });
  t.match(answer, /GOOD/);
  socket.destroy();
});

t.test('the attributes of a subject are read', async (t) => {
  const { begun, shown } = await setUp(t);
  const read = async (subject: Subject) => {
    const { socket } = await begun(company.issue(subject));
    socket.destroy();
    return shown.pop();
  };
  t.match(
    await read([
      [
        ['O', 'tenant:acme'],
        ['OU', 'dev'],
        ['CN', 'bob'],
      ],
    ]),
    { commonNames: ['bob'], organizations: ['tenant:acme'], organizationalUnits: ['dev'] },
    'several attributes in one RDN',
  );
  const inOne = 'x, O=tenant:globex/O=tenant:globex\nO=tenant:globex+CN=eve\\';
  t.match(
    await read([['CN', inOne]]),
    { commonNames: [inOne], organizations: [] },
    'a value that looks like several attributes is one',
  );
  t.match(
    await read([['CN', 'acme:bob\0.globex']]),
    { commonNames: ['acme:bob\0.globex'] },
    'a NUL does not end a value',
  );
  t.match(await read([['CN', 'acme:zoë 日本']]), { commonNames: ['acme:zoë 日本'] });
  t.match(
    await read([['CN', Buffer.from([0, 0x61, 0, 0x3a, 0x65, 0xe5]), 0x1e]]),
    { commonNames: ['a:日'] },
    'UTF-16',
  );
  t.match(await read([['CN', Buffer.from([0x61, 0xe9]), 0x14]]), { commonNames: ['aé'] }, 'Latin-1');
  t.match(
    await read([
      ['CN', 'a'],
      ['CN', 'b'],
      ['O', 'x'],
      ['O', 'x'],
    ]),
    { commonNames: ['a', 'b'], organizations: ['x', 'x'] },
  );
  t.same(
    await read([
      ['O', 'tenant:acme'],
      ['O', Buffer.from([0, 0x61]), 0x03],
      ['CN', 'bob'],
    ]),
    { verified: false, problem: 'its subject has an attribute that is no text' },
    'a certificate with an attribute that is not text is refused',
  );
});

t.test('when a certificate expires', async (t) => {
  const { begun, clock, port, shown, socket: open } = await setUp(t);
  const notAfter = new Date(Math.ceil((clock.now() + 60 * DAY) / 1_000) * 1_000);
  const before = clock.pending;
  const watch = await begun(company.issue(BOB, { notAfter }), GET.replace('/', '/watch'));
  t.match(shown[0], { notAfter: notAfter.getTime() });
  const none = await begun({});
  const bob = company.issue(BOB, { notAfter });
  const session = connect(`https://localhost:${port}`, { ca: authority.cert, ...bob });
  const stream = session.request({ ':path': '/watch' });
  stream.on('error', () => stream.destroy());
  session.on('error', () => session.destroy());
  await once(stream, 'data');
  const streamClosed = once(stream, 'close');

  t.test('its connection stays open until then, even if that is beyond the range of a timer', async (t) => {
    for (let hour = 0; hour < 60 * 24 - 1; hour += 1) {
      clock.advance(HOUR);
      if (clock.untilNext > HOUR) t.fail('Node has no timer this long');
      if (watch.socket.destroyed) t.fail(`closed after ${hour} hours`);
    }
    t.notOk(watch.socket.destroyed || stream.closed);
  });
  t.test('its connection is closed, even during a request', async (t) => {
    clock.advance(notAfter.getTime() - clock.now());
    t.ok(await watch.closed);
    await streamClosed;
  });
  t.test('other connections stay open', async (t) => {
    t.ok(await goesOn(none.socket));
    none.socket.destroy();
  });
  t.test('a connection that is closed earlier leaves no timer', async (t) => {
    const socket = await open(company.issue(BOB));
    socket.end();
    await closeOf(socket);
    t.ok(clock.pending <= before + 2);
  });
});

t.test('a change of the client CAs closes the connections with certificates', async (t) => {
  const { begun, trust } = await setUp(t);
  const watch = await begun(company.issue(BOB), GET.replace('/', '/watch'));
  const unverified = await begun(foreign.issue(BOB));
  const none = await begun({});
  trust(company.cert);
  t.ok(await goesOn(unverified.socket), 'the same CAs close no connection');
  t.notOk(watch.socket.destroyed);
  t.throws(() => trust(company.cert.replace('MII', 'XXX')), 'an invalid CA is refused and changes nothing');
  trust(foreign.cert);
  t.ok(await watch.closed, 'another CA disconnects verified clients, even during a request');
  t.ok(await unverified.closed, 'clients that were not verified are disconnected too');
  t.match((await begun(company.issue(BOB))).answer, /BAD/);
  t.match((await begun(foreign.issue(BOB))).answer, /GOOD/);
  t.ok(await goesOn(none.socket), 'connections without a certificate stay open');
});

t.test('a certificate is valid no longer than its CA', async (t) => {
  const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + HOUR);
  const brief = createIssuer('brief', { notAfter: soon });
  const { begun, clock } = await setUp(t, brief.cert);
  const open = await begun(brief.issue(BOB));
  clock.advance(soon.getTime() - clock.now());
  t.ok(await open.closed);
});

t.test('a client whose certificate is not a CA cannot issue a certificate for another user', async (t) => {
  const { begun } = await setUp(t);
  const bob = company.issue(BOB);
  const forged = issuerOf(BOB, bob.key, bob.cert).issue([['CN', 'globex:admin']]);
  const { answer, socket } = await begun({ key: forged.key, cert: forged.cert + bob.cert });
  t.match(answer, /BAD/);
  socket.destroy();
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  t.test(`${version}: a resumed session does not restore an earlier verification`, async (t) => {
    const { begun, trust, socket: open } = await setUp(t);
    const settings = { ...company.issue(BOB), minVersion: version, maxVersion: version };
    const first = await open(settings);
    const sessions: Buffer[] = [];
    first.on('session', (session: Buffer) => sessions.push(session));
    first.write(GET);
    t.match(await readSome(first), /GOOD/);
    const session = sessions.at(-1) ?? first.getSession();
    t.ok(session, 'the client has a session to resume');
    first.destroy();
    const again = await begun({ ...settings, session });
    t.match(again.answer, /GOOD/);
    t.notOk(
      again.socket.isSessionReused(),
      'the session is not resumed, so the certificate is verified again',
    );
    again.socket.destroy();
    trust(foreign.cert);
    const after = await begun({ ...settings, session });
    t.match(after.answer, /BAD/);
    after.socket.destroy();
  });

t.test('a handshake that began before the CAs changed is aborted', async (t) => {
  const { port, trust, listener } = await setUp(t);
  const { connection, answered, release } = await heldConnection(port);
  const socket = connectTLS({
    socket: connection,
    ca: authority.cert,
    servername: 'localhost',
    ...company.issue(BOB),
  });
  socket.on('error', () => socket.destroy());
  await answered;
  trust(foreign.cert);
  release();
  socket.write(GET);
  t.equal(await readAll(socket), '');
  await eventually(() => listener.activeConnections === 0);
});

t.test('a client cannot change its identity during a connection', async (t) => {
  const { socket: open } = await setUp(t);
  const socket = await open({ ...company.issue(BOB), maxVersion: 'TLSv1.2' });
  socket.on('error', () => socket.destroy());
  socket.write(GET);
  t.match(await readSome(socket), /GOOD/);
  const ended = new Promise((resolve) => socket.once('error', resolve).once('close', resolve));
  const renegotiated = new Promise((resolve) => socket.renegotiate({}, () => resolve('another')));
  t.match(await Promise.race([ended, renegotiated]), { code: 'ERR_SSL_NO_RENEGOTIATION' });
  socket.destroy();
});

t.test('a required certificate is checked throughout the connection, like an optional one', async (t) => {
  const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + HOUR);
  const brief = company.issue(BOB, { notAfter: soon });
  const clock = createFakeClock();
  const shown: unknown[] = [];
  const serve = async ({ response, clientCertificate }: Exchange) => {
    shown.push(clientCertificate);
    response.writeHead(200, []);
    response.end('SERVED');
  };
  const { listener, socket } = await listenFor(t, serve, {
    tls: { ...certificate, clientCA: company.cert },
    timeouts: PATIENT,
    clock,
  });
  const begun = async (credential: ConnectionOptions) => {
    const connection = await socket(credential);
    connection.on('error', () => connection.destroy());
    connection.write(GET);
    t.match(await readSome(connection), /SERVED/);
    return closeOf(connection);
  };

  const [bob, short] = [begun(company.issue(BOB)), begun(brief)];
  await eventually(() => shown.length === 2);
  t.same(shown, [undefined, undefined], 'a required certificate is not a credential');
  clock.advance(soon.getTime() - clock.now());
  t.ok(await short, 'the connection ends when the certificate expires');
  await eventually(() => listener.activeConnections === 1);
  listener.prepareTLS({ ...certificate, clientCA: foreign.cert })();
  t.ok(await bob, 'the connection ends when its CA is no longer trusted');
});

t.test('whether client certificates are requested or required needs a restart to change', async (t) => {
  const { listener } = await setUp(t);
  t.throws(() => listener.prepareTLS(certificate), /restart/);
  t.throws(() => listener.prepareTLS({ ...certificate, clientCA: company.cert }), /restart/);
});
