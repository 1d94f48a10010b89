import t, { type Test } from 'tap';
import type { UpstreamStream } from '../../../src/kubernetes/upstream-ports.ts';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { REFUSAL_PAUSE } from '../../../src/upstream/impersonation-refusal.ts';
import { createStreamer } from '../../../src/upstream/stream.ts';
import type { Upstream } from '../../../src/upstream/upstream.ts';
import { callContext } from '../../support/call-context.ts';
import { eventually } from '../../support/eventually.ts';
import { chunk, codeOf, type RelayOptions, relayFor } from '../../support/raw-http/relay.ts';

const WATCH = {
  account: { kind: 'stonegate' },
  sender: { kind: 'stonegate' },
  target: '/api/v1/namespaces?watch=1',
  headers: [['Accept', 'application/json']],
} as const;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const ALICE: HeaderList = [['Impersonate-User', 'alice']];

const NEVER = new AbortController().signal;

/** A request that has reached the API server. */
async function begun(
  test: Test,
  request: Parameters<Upstream['stream']>[0] = WATCH,
  options: RelayOptions = {},
) {
  const relay = await relayFor(test, options);
  const opening = relay.adapter.stream(request, NEVER);
  // Tests that expect the failure await it themselves.
  opening.catch(() => undefined);
  const connection = await relay.upstream.next('\r\n\r\n');
  return { relay, opening, connection };
}

async function textOf({ body }: UpstreamStream) {
  let text = '';
  for await (const part of body) text += String(part);
  return text;
}

t.test('the events of a watch can be read as they arrive', async (t) => {
  const { opening, connection, relay } = await begun(t);
  const { received } = connection;
  t.match(received, /^GET \/api\/v1\/namespaces\?watch=1 HTTP\/1\.1\r\n/);
  t.match(received, /\r\nAuthorization: Bearer our-token\r\n/);
  connection.send(HEAD + chunk('one\n'));
  const { status, headers, body } = await opening;
  t.equal(status, 200);
  t.same(headers, [['Content-Type', 'application/json']]);
  const events = body.iterator();
  t.equal(String((await events.next()).value), 'one\n');
  connection.send(chunk('two\n'));
  t.equal(String((await events.next()).value), 'two\n');
  relay.clock.advance(24 * 3_600_000);
  connection.send(`${chunk('three\n')}0\r\n\r\n`);
  t.equal(String((await events.next()).value), 'three\n', 'silence has no limit');
  t.ok((await events.next()).done, 'it ends with the response');
});

t.test('a slow reader makes the API server wait, and little is buffered', async (t) => {
  const { opening, connection } = await begun(t);
  connection.send(HEAD);
  const { body } = await opening;
  const megabyte = 'x'.repeat(1024 * 1024);
  const SIZE = 64;
  for (let sent = 0; sent < SIZE; sent += 1) connection.send(chunk(megabyte));
  connection.send('0\r\n\r\n');
  await eventually(() => body.readableLength > 0);
  await eventually(() => connection.socket.writableLength > 0);
  t.ok(body.readableLength < 2 * 1024 * 1024, `${body.readableLength} bytes are read ahead`);
  let length = 0;
  for await (const part of body) length += Buffer.isBuffer(part) ? part.length : 0;
  t.equal(length, SIZE * megabyte.length, 'all of it arrives');
});

t.test('destroying the body ends the request to the API server', async (t) => {
  const { opening, connection, relay } = await begun(t);
  connection.send(HEAD + chunk('one\n'));
  const { body } = await opening;
  body.destroy();
  await connection.untilEnd();
  t.equal(relay.clock.pending, 0);
});

t.test('a request ends when its caller cancels it, before and during the response', async (t) => {
  const relay = await relayFor(t);
  const caller = new AbortController();
  const early = relay.adapter.stream(WATCH, caller.signal).catch((error: unknown) => error);
  const first = await relay.upstream.next('\r\n\r\n');
  const later = new AbortController();
  const opening = relay.adapter.stream(WATCH, later.signal);
  const second = await relay.upstream.next();
  second.send(HEAD + chunk('one\n'));
  const { body } = await opening;
  caller.abort();
  later.abort();
  t.equal(codeOf(await early), 'UpstreamUnavailable');
  await t.rejects(body.toArray(), { code: 'UpstreamUnavailable' });
  await Promise.all([first.untilEnd(), second.untilEnd()]);
  await t.rejects(relay.adapter.stream(WATCH, AbortSignal.abort()), { code: 'UpstreamUnavailable' });
});

t.test('a response that breaks off is an error for its reader', async (t) => {
  const { opening, connection } = await begun(t);
  connection.send(HEAD + chunk('one\n'));
  const stream = await opening;
  connection.socket.destroy();
  await t.rejects(textOf(stream), { code: 'UpstreamUnavailable' });
});

for (const [name, text, code] of [
  [
    'the credential is refused',
    'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n',
    'UpstreamRefusedCredential',
  ],
  [
    'a refusal is incomplete',
    'HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nhalf',
    'UpstreamUnavailable',
  ],
] as const)
  t.test(`a stream fails with ${code} if ${name}`, async (t) => {
    const { opening, connection } = await begun(t);
    connection.send(text);
    connection.socket.end();
    await t.rejects(opening, { code });
  });

t.test('a 403 to an impersonated user is passed to the caller', async (t) => {
  const { opening, connection } = await begun(t, { ...WATCH, headers: ALICE });
  connection.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
  const stream = await opening;
  t.equal(stream.status, 403);
  t.equal(await textOf(stream), 'no');
});

t.test(
  'a request of Stonegate’s own is repeated once after a 403, which a starting API server gives',
  async (t) => {
    const relay = await relayFor(t);
    const opening = relay.adapter.stream(WATCH, new AbortController().signal);
    const connection = await relay.upstream.next();
    connection.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    await eventually(() => relay.clock.untilNext <= REFUSAL_PAUSE);
    relay.clock.advance(REFUSAL_PAUSE);
    await eventually(() => connection.received.match(/GET /g)?.length === 2);
    connection.send(`${HEAD}${chunk('one\n')}0\r\n\r\n`);
    t.equal(await textOf(await opening), 'one\n');
  },
);

t.test("a client's own token is sent, and a 401 or 403 to it is passed to the caller", async (t) => {
  for (const status of ['401 Unauthorized', '403 Forbidden']) {
    const sender = { kind: 'client', token: 'a-client' } as const;
    const account = { kind: 'tenant', tenant: toTenantName('acme') } as const;
    const { opening, connection } = await begun(t, { ...WATCH, account, sender }, { sender });
    t.match(connection.received, /\r\nAuthorization: Bearer a-client\r\n/);
    connection.send(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nno`);
    const stream = await opening;
    t.equal(`${stream.status}`, status.slice(0, 3));
    t.equal(await textOf(stream), 'no');
  }
});

t.test("the rate of a tenant's watches", async (t) => {
  const account = { kind: 'tenant', tenant: toTenantName('acme') } as const;
  const ask = { ...WATCH, account };
  const BURST = 5_000;

  /** @param begun watches of the tenant before; the API server cannot be reached */
  function streamerAfter(test: Test, begun: number) {
    const { context, pool } = callContext('http://127.0.0.1:1');
    test.teardown(() => pool.destroy());
    context.limits.admit(account, begun);
    return createStreamer(context);
  }

  t.test('a tenant that has begun 5,000 watches at once gets no other', async (t) => {
    const streamer = streamerAfter(t, BURST);
    await t.rejects(streamer.stream(ask, NEVER), { code: 'TenantRateExceeded' });
    t.throws(() => streamer.admitParts(account, 1), { code: 'TenantRateExceeded' });
  });

  t.test('a watch of many namespaces begins whole or not at all', async (t) => {
    const streamer = streamerAfter(t, BURST - 10);
    t.throws(() => streamer.admitParts(account, 11), { code: 'TenantRateExceeded' });
    const { stream } = streamer.admitParts(account, 10);
    await t.rejects(stream(ask, NEVER), { code: 'UpstreamUnavailable' });
  });

  t.test('wide watches of one user do not begin on the same rate, and what they owe is repaid', async (t) => {
    const streamer = streamerAfter(t, BURST - 50);
    streamer.admitParts(account, 500);
    t.throws(() => streamer.admitParts(account, 500), { code: 'TenantRateExceeded' });
    await t.rejects(streamer.stream(ask, NEVER), { code: 'TenantRateExceeded' });
  });

  t.test('a watch that finds no API server does not count, with all its parts', async (t) => {
    const streamer = streamerAfter(t, BURST - 10);
    for (let at = 0; at < 2; at += 1) {
      await t.rejects(streamer.stream(ask, NEVER), { code: 'UpstreamUnavailable' });
      const parts = streamer.admitParts(account, 10);
      await t.rejects(parts.stream(ask, NEVER), { code: 'UpstreamUnavailable' });
      parts.release();
    }
  });
});
