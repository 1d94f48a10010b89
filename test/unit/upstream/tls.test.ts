import { once } from 'node:events';
import https from 'node:https';
import { TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import t, { type Test } from 'tap';
import { type Sender, STONEGATE_ACCOUNT } from '../../../src/kubernetes/upstream-request.ts';
import { startRawServer } from '../../support/raw-http/raw-server.ts';
import { relayFor } from '../../support/raw-http/relay.ts';
import { type Authority, createAuthority, type KeyPair } from '../../support/tls/authority.ts';

const GET = 'GET /x HTTP/1.1\r\nHost: s\r\n\r\n';
const EXEC = 'POST /x/exec HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

/** An API server whose response names its client by certificate; after an upgrade it echoes. */
async function startSecureServer(test: Test, pair: KeyPair, authority: Authority) {
  const server = https.createServer({
    ...pair,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: false,
  });
  const nameOf = (socket: unknown) =>
    socket instanceof TLSSocket && socket.authorized
      ? String(socket.getPeerCertificate().subject.CN)
      : 'no certificate';
  server.on('request', (request, response) => response.end(nameOf(request.socket)));
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    socket.write(nameOf(socket));
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function misnamedServer({ cert, key }: Authority) {
  const made = await generate([{ name: 'commonName', value: 'elsewhere' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { cert, key },
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'elsewhere.example' }] }],
  });
  return { cert: made.cert, key: made.private };
}

t.test('TLS to the API server', async (t) => {
  const authority = await createAuthority();
  const pair = await authority.server('kube-apiserver');

  for (const host of ['127.0.0.1', 'localhost'])
    t.test(`is verified against our authority and the name ${host}`, async (t) => {
      const port = await startSecureServer(t, pair, authority);
      const relay = await relayFor(t, { server: `https://${host}:${port}`, ca: authority.cert });
      const client = await relay.request(GET);
      t.match(await client.until('no certificate'), /^HTTP\/1\.1 200 /);
      const tunnel = await relay.request(EXEC);
      t.match(await tunnel.until('no certificate'), /^HTTP\/1\.1 101 /);
      tunnel.send('echo');
      await tunnel.until('no certificateecho');
    });

  t.test('carries a client’s own token without Stonegate’s certificate', async (t) => {
    const port = await startSecureServer(t, pair, authority);
    const credential = await authority.client('stonegate');
    const relay = await relayFor(t, {
      server: `https://127.0.0.1:${port}`,
      ca: authority.cert,
      credential,
      sender: { kind: 'client', token: 'client-token' },
    });
    const ask = (sender: Sender) =>
      relay.adapter.fetch(
        { account: STONEGATE_ACCOUNT, sender, method: 'GET', target: '/', headers: [] },
        new AbortController().signal,
      );
    const ours = await ask({ kind: 'stonegate' });
    t.equal(ours.body.toString(), 'stonegate', 'our certificate');
    const theirs = await ask({ kind: 'client', token: 'client-token' });
    t.equal(theirs.body.toString(), 'no certificate');
    const client = await relay.request(GET);
    t.match(await client.until('no certificate'), /^HTTP\/1\.1 200 /);
    const tunnel = await relay.request(EXEC);
    t.match(await tunnel.until('no certificate'), /^HTTP\/1\.1 101 /);
    const again = await ask({ kind: 'stonegate' });
    t.equal(again.body.toString(), 'stonegate', 'nor do ours go over theirs');
  });

  const otherAuthority = await createAuthority('other');
  for (const [name, serverPair, signedBy, request, code] of [
    [
      'another authority',
      await otherAuthority.server('kube-apiserver'),
      otherAuthority,
      GET,
      /^(SELF_SIGNED|UNABLE_TO_)/,
    ],
    ['another name', await misnamedServer(authority), authority, EXEC, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const)
    t.test(`with a certificate of ${name} is a 503`, async (t) => {
      const port = await startSecureServer(t, serverPair, signedBy);
      const relay = await relayFor(t, { server: `https://127.0.0.1:${port}`, ca: authority.cert });
      const client = await relay.request(request);
      t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
      t.match(await relay.ending(), { error: { cause: { code } } });
    });

  for (const [what, text] of [
    ['request', GET],
    ['tunnel', EXEC],
  ] as const) {
    /** A request to a server that never answers the handshake. */
    async function begin(t: Test) {
      const mute = await startRawServer();
      t.teardown(() => mute.close());
      const relay = await relayFor(t, {
        server: `https://127.0.0.1:${mute.port}`,
        timeouts: { connect: 100 },
      });
      const client = await relay.request(text);
      return { relay, client, connection: await mute.next() };
    }

    t.test(`that times out is a 503 for a ${what}`, async (t) => {
      const { relay, client, connection } = await begin(t);
      relay.clock.advance(100);
      t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
      await connection.untilEnd();
    });

    t.test(`for a ${what} whose client disconnects ends with the connect timeout`, async (t) => {
      const { relay, client, connection } = await begin(t);
      client.reset();
      t.same(await relay.ending(), { result: { status: 0, aborted: true }, heads: [] });
      relay.clock.advance(100);
      await connection.untilEnd();
      t.equal(relay.clock.pending, 0);
    });
  }
});
