import t from 'tap';
import { TooLarge } from '../../../src/limits/byte-budget.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { DISCARD_TIMEOUT } from '../../../src/upstream/call-state.ts';
import { eventually } from '../../support/eventually.ts';
import { codeOf, relayFor } from '../../support/raw-http/relay.ts';

const VERSION = {
  account: { kind: 'stonegate' },
  sender: { kind: 'stonegate' },
  method: 'GET',
  target: '/version',
  headers: [],
} as const;

t.test('a request of Stonegate’s own', async (t) => {
  const live = new AbortController().signal;

  t.test('resolves with status, headers and the complete body', async (t) => {
    const relay = await relayFor(t);
    const fetched = relay.adapter.fetch({ ...VERSION, method: 'POST', body: '{"spec":"é"}' }, live);
    const connection = await relay.upstream.next();
    const received = await connection.until('}');
    t.match(received, /^POST \/version HTTP\/1\.1\r\n/);
    t.match(received, /\r\nAuthorization: Bearer our-token\r\n/);
    t.match(received, /\r\ncontent-length: 13\r\n/);
    connection.send(
      'HTTP/1.1 201 Created\r\nX-Thing: 1\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbo',
    );
    connection.send('dy');
    const answer = await fetched;
    t.equal(answer.status, 201);
    t.same(answer.headers, [
      ['X-Thing', '1'],
      ['Content-Length', '4'],
    ]);
    t.equal(answer.body.toString(), 'body');
  });

  for (const [name, text, code] of [
    [
      'a refused credential',
      'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n',
      'UpstreamRefusedCredential',
    ],
    ['an incomplete response', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'UpstreamUnavailable'],
  ] as const)
    t.test(`fails with ${code} for ${name}`, async (t) => {
      const relay = await relayFor(t);
      const fetched = relay.adapter.fetch(VERSION, live).catch((error: unknown) => error);
      const connection = await relay.upstream.next();
      connection.send(text);
      connection.socket.end();
      t.equal(codeOf(await fetched), code);
    });

  t.test('fails with TooLarge as the cause if the response is over 16 MiB', async (t) => {
    const relay = await relayFor(t);
    const fetched = relay.adapter.fetch(VERSION, live);
    const connection = await relay.upstream.next();
    connection.send(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(17 * 1024 * 1024)}`);
    await t.rejects(fetched, {
      code: 'UpstreamUnavailable',
      cause: { constructor: TooLarge, message: /over 16777216 bytes/ },
    });
  });

  for (const [account, code] of [
    [{ kind: 'tenant', tenant: toTenantName('acme') }, 'TenantRateExceeded'],
    [{ kind: 'source', address: '192.0.2.1' }, 'CredentialRateExceeded'],
    [{ kind: 'stonegate' }, 'UpstreamUnavailable'],
  ] as const)
    t.test(
      `fails with ${code} if too many large responses for a ${account.kind} are read at once`,
      async (t) => {
        const relay = await relayFor(t);
        const large = `HTTP/1.1 200 OK\r\nContent-Length: ${16 * 1024 * 1024}\r\n\r\n${'x'.repeat(15 * 1024 * 1024)}`;
        const errors: unknown[] = [];
        for (let index = 0; index < 5; index += 1) {
          relay.adapter.fetch({ ...VERSION, account }, live).catch((error: unknown) => errors.push(error));
          (await relay.upstream.next()).send(large);
        }
        await eventually(() => errors.length > 0);
        t.equal(codeOf(errors[0]), code);
      },
    );

  t.test('C067 ends when its caller cancels it', async (t) => {
    const relay = await relayFor(t);
    const client = new AbortController();
    const fetched = relay.adapter.fetch(VERSION, client.signal).catch((error: unknown) => error);
    const connection = await relay.upstream.next('\r\n\r\n');
    client.abort();
    t.equal(codeOf(await fetched), 'UpstreamUnavailable');
    relay.clock.advance(DISCARD_TIMEOUT);
    await connection.untilEnd();
    t.equal(relay.clock.pending, 0);
  });

  t.test('opens no connection if its caller has already cancelled it', async (t) => {
    const relay = await relayFor(t);
    await t.rejects(relay.adapter.fetch(VERSION, AbortSignal.abort()), { code: 'UpstreamUnavailable' });
    t.equal(relay.upstream.connections.length, 0);
  });
});
