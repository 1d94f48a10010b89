import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import t from 'tap';
import type { Exchange } from '../../../src/lib/exchange.ts';
import { REFUSAL_PAUSE } from '../../../src/upstream/impersonation-refusal.ts';
import { forbiddenImpersonation } from '../../support/apiserver/statuses.ts';
import { eventually } from '../../support/eventually.ts';
import { begun, chunk, codeOf, type RelayOptions, relayFor, TIMEOUTS } from '../../support/raw-http/relay.ts';

const GET = 'GET /api/v1/tenants/acme/pods HTTP/1.1\r\nHost: stonegate\r\n\r\n';
const POST = 'POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: 10\r\n\r\nhalf.';
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const WATCH_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const REFUSED_IMPERSONATION = refusedImpersonation();
const ALICE: RelayOptions = {
  servedByAPIServer: true,
  headers: () => [['Impersonate-User', 'acme:alice']],
};
const WATCH: RelayOptions = { longRunning: true };

/** What an API server without roles says to Stonegate. */
function refusedImpersonation() {
  const body = JSON.stringify(forbiddenImpersonation().status);
  return `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');

/** Sends so many megabytes, as fast as the other end takes them; returns how many are on their way. */
function pump(socket: Socket, megabytes: number) {
  let sent = 0;
  const more = () => {
    while (sent < megabytes) {
      sent += 1;
      if (socket.write(MEGABYTE)) continue;
      socket.once('drain', more);
      return;
    }
  };
  more();
  return () => sent;
}

t.test('a request is forwarded with its target and headers unchanged, and the credential last', async (t) => {
  const { relay, server } = await begun(
    t,
    'GET /api/v1/x/%41?a=b&c=%2F HTTP/1.1\r\nHost: stonegate\r\n\r\n',
    {
      headers: () => [
        ['Accept', 'application/json'],
        ['Impersonate-User', 'acme:alice'],
        ['Impersonate-Group', 'a'],
        ['Impersonate-Group', 'b, c'],
      ],
    },
  );
  t.equal(
    server.received,
    [
      'GET /api/v1/x/%41?a=b&c=%2F HTTP/1.1',
      `host: 127.0.0.1:${relay.upstream.port}`,
      'connection: keep-alive',
      'Accept: application/json',
      'Impersonate-User: acme:alice',
      'Impersonate-Group: a',
      'Impersonate-Group: b, c',
      'Authorization: Bearer our-token',
      '\r\n',
    ].join('\r\n'),
  );
});

for (const [name, options] of [
  ['C088 another credential on it', { headers: () => [['authorization', 'Bearer theirs']] }],
  ['a header that HTTP cannot express', { headers: () => [['X', 'a\u2028b']] }],
  ['a target that HTTP cannot express', { exchange: (e) => ({ ...e, target: '/a b' }) }],
] as [string, RelayOptions][])
  t.test(`a request with ${name} is a 500, and nothing is sent`, async (t) => {
    const relay = await relayFor(t, options);
    const client = await relay.request(GET);
    t.match(await client.until('InvariantBroken'), /^HTTP\/1\.1 500 /);
    t.equal(relay.upstream.connections.length, 0);
  });

t.test('request bodies', async (t) => {
  t.test('of unknown length are sent in chunks as they arrive', async (t) => {
    const { client, server } = await begun(
      t,
      `PUT /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('one')}`,
    );
    t.match(await server.until('one'), /transfer-encoding: chunked/);
    client.send(`${chunk('two')}`);
    await server.until('two');
    client.send('0\r\n\r\n');
    await server.until('0\r\n\r\n');
  });

  t.test('over the limit are a 413', async (t) => {
    const head = 'POST /x HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { client, server } = await begun(t, `${head}${chunk('12345678')}`, { maxBodyBytes: 10 });
    await server.until('12345678');
    client.send(chunk('90a'));
    t.match(await client.until('BodyTooLarge'), /^HTTP\/1\.1 413 /);
    t.notMatch(await server.untilEnd(), '90a');
  });

  t.test('that the client does not complete in time are a 408', async (t) => {
    const { relay, client, server } = await begun(t, POST);
    await eventually(() => relay.clock.pending === 1);
    relay.clock.advance(TIMEOUTS.body);
    t.match(await client.until('BodyTimeout'), /^HTTP\/1\.1 408 /);
    await server.untilEnd();
  });

  t.test('longer than their Content-Length are a 400', async (t) => {
    const relay = await relayFor(t, {
      exchange: (e) => ({
        ...e,
        headers: [['Content-Length', '4']],
        body: Readable.from([Buffer.from('123456')]),
      }),
    });
    const client = await relay.request('POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\n1234');
    t.match(await client.until('RequestMalformed'), /^HTTP\/1\.1 400 /);
    t.notMatch(await (await relay.upstream.next()).untilEnd(), '123456');
  });

  t.test('that the API server stops reading are a 504', async (t) => {
    const relay = await relayFor(t, { timeouts: { body: 1e9 } });
    const client = await relay.client();
    client.send(`POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: ${64 * MEGABYTE.length}\r\n\r\n`);
    pump(client.socket, 64);
    (await relay.upstream.next()).socket.pause();
    await eventually(() => {
      relay.clock.advance(TIMEOUTS.response / 20);
      return client.received.includes('UpstreamTimeout');
    });
    t.match(client.received, /^HTTP\/1\.1 504 /);
  });

  t.test('need not be complete when the response arrives', async (t) => {
    const { relay, client, server } = await begun(t, POST);
    await server.until('half.');
    server.send('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig');
    t.match(await client.until('big'), /^HTTP\/1\.1 413 /);
    t.match(await relay.ending(), { result: { status: 413, aborted: false } });
    client.send('rest.');
    client.send(GET);
    (await relay.upstream.next()).send(OK);
    await client.until('{}');
    t.equal(relay.clock.pending, 1, 'that of the idle connection');
  });
});

const HOPS =
  'Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\nProxy-Connection: x\r\nContent-Type: a/b\r\n' +
  'Content-Type: c/d\r\nWarning: 299 - "one"\r\nWarning: 299 - "two"\r\nContent-Length: 2\r\n\r\n{}';

for (const [name, sent, received, not = 'OTHER', request = GET] of [
  ['C073 of 404', '404 Not Found\r\nX-Thing: 1\r\nContent-Length: 2\r\n\r\nno', /X-Thing: 1\r\n.*\r\nno$/s],
  [
    'with fields of the connection',
    `200 OK\r\n${HOPS}`,
    /Content-Type: a\/b\r\nWarning: 299 - "one"\r\nWarning: 299 - "two"/,
    /x-hop|timeout=9|proxy|c\/d/i,
  ],
  ['of 204', '204 No Content\r\nEtag: "x"\r\n\r\n', /Etag: "x"\r\n.*\r\n\r\n$/s],
  ['of 205 with a body', '205 Reset\r\nContent-Length: 4\r\n\r\nbody', /\r\n\r\n/, /body|Content-Length: 4/],
  [
    'to HEAD',
    '200 OK\r\nContent-Length: 99\r\n\r\n',
    /Content-Length: 99/,
    'OTHER',
    GET.replace('GET', 'HEAD'),
  ],
] as const)
  t.test(`a response ${name} passes`, async (t) => {
    const { relay, client, server } = await begun(t, request);
    server.send(`HTTP/1.1 ${sent}`);
    const status = Number(sent.slice(0, 3));
    t.same(await relay.ending(), { result: { status, aborted: false }, heads: [status] });
    await client.until('\r\n\r\n');
    t.match(client.received, new RegExp(`^HTTP/1.1 ${status} `));
    t.match(client.received, received);
    t.notMatch(client.received, not);
    t.equal(relay.upstream.connections.length, 1);
  });

t.test('a 401 from a workload passes, and is not logged', async (t) => {
  const { relay, client, server } = await begun(t, GET, { ...WATCH, proxied: true });
  server.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nauth');
  t.match(await client.until('auth'), /^HTTP\/1\.1 401 /);
  t.same(relay.log, []);
});

t.test('a watch', async (t) => {
  t.test('passes each event as it arrives, and may be silent for a day', async (t) => {
    const { relay, client, server } = await begun(t, GET, WATCH);
    server.send(WATCH_HEAD);
    await client.until('\r\n\r\n');
    for (const event of ['{"type":"ADDED"}\n', '{"type":"MODIFIED"}\n']) {
      relay.clock.advance(24 * 3_600_000);
      server.send(chunk(event));
      await client.until(event.trim());
    }
    t.equal(relay.clock.pending, 0);
    server.send('0\r\n\r\n');
    t.same(await relay.ending(), { result: { status: 200, aborted: false }, heads: [200] });
  });

  t.test('whose response has not begun when the server stops is a 503', async (t) => {
    const { relay, client } = await begun(t, GET, WATCH);
    relay.stop();
    t.match(await client.until('ShuttingDown'), /^HTTP\/1\.1 503 /);
  });
});

t.test('when the server stops, other responses are completed', async (t) => {
  for (const [rest, aborted] of [
    [`${chunk('whole')}0\r\n\r\n`, false],
    ['', true],
  ] as const) {
    const { relay, client, server } = await begun(t, GET, { ...WATCH, endless: false });
    server.send(WATCH_HEAD + chunk('half'));
    await client.until('half');
    relay.stop();
    server.send(rest);
    if (aborted) server.socket.destroy();
    t.match(await relay.ending(), { result: { aborted } });
    if (aborted) t.notMatch(await client.untilEnd(), /0\r\n\r\n$/);
    else await client.until('0\r\n\r\n');
  }
});

t.test('backpressure', async (t) => {
  t.test('a client that reads slowly receives everything, and the API server waits for it', async (t) => {
    let full = false;
    let waits = 0;
    let overruns = 0;
    const relay = await relayFor(t, {
      exchange: (exchange) => ({
        ...exchange,
        response: {
          ...exchange.response,
          closed: false,
          headersSent: false,
          write(part) {
            if (full) overruns += 1;
            full = !exchange.response.write(part);
            if (full) waits += 1;
            return !full;
          },
          onDrain(callback) {
            exchange.response.onDrain(() => {
              full = false;
              callback();
            });
          },
        },
      }),
    });
    const client = await relay.client();
    client.socket.pause();
    client.send(GET);
    const connection = await relay.upstream.next();
    connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * MEGABYTE.length}\r\n\r\n`);
    const sent = pump(connection.socket, 64);
    await eventually(() => full && connection.socket.writableNeedDrain);
    t.ok(sent() < 64, 'the API server was stopped before it had sent all');
    for (let i = 0; i < 10; i += 1) relay.clock.advance(TIMEOUTS.response);
    client.socket.resume();
    t.match(await relay.ending(), { result: { status: 200, aborted: false } }, 'backpressure is no silence');
    t.equal(sent(), 64);
    t.ok(waits > 0);
    t.equal(overruns, 0);
  });

  t.test('a client waits for an API server that reads slowly', async (t) => {
    let body: Exchange['body'] | undefined;
    const relay = await relayFor(t, {
      longRunning: true,
      exchange(exchange) {
        body = exchange.body;
        return exchange;
      },
    });
    const client = await relay.client();
    client.send(`POST /x HTTP/1.1\r\nHost: s\r\nContent-Length: ${64 * MEGABYTE.length}\r\n\r\n`);
    const sent = pump(client.socket, 64);
    const connection = await relay.upstream.next();
    connection.socket.pause();
    await eventually(() => body?.isPaused() === true && client.socket.writableNeedDrain);
    t.ok(sent() < 64, 'the client was stopped before it had sent all');
    connection.socket.resume();
    await eventually(() => connection.socket.bytesRead > 64 * MEGABYTE.length);
    connection.send(OK);
    await client.until('200 OK');
  });
});

t.test('faults of the API server', async (t) => {
  t.test('a refused connection is a 503 that shows no address', async (t) => {
    const relay = await relayFor(t, { server: 'http://127.0.0.1:1' });
    const client = await relay.request(GET);
    const received = await client.until('UpstreamUnavailable');
    t.match(received, /^HTTP\/1\.1 503 /);
    t.notMatch(received, /127\.0\.0\.1|ECONNREFUSED/);
    t.same(relay.calls, ['error']);
  });

  t.test('a GET is not repeated once its response has begun', async (t) => {
    const { relay, client, server } = await begun(t, GET);
    server.send('HTTP/1.1 200 OK\r\nContent-');
    server.socket.end();
    t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
    t.equal(relay.upstream.connections.length, 1);
  });

  t.test('a response without new data for too long is broken off', async (t) => {
    const { relay, client, server } = await begun(t, GET);
    server.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('half');
    relay.clock.advance(TIMEOUTS.response - 1);
    server.send('more');
    await client.until('more');
    relay.clock.advance(TIMEOUTS.response - 1);
    t.equal(relay.clock.pending, 1, 'the timeout begins anew with each chunk');
    relay.clock.advance(1);
    await client.untilEnd();
    await server.untilEnd();
    t.same(await relay.ending(), { result: { status: 200, aborted: true }, heads: [200] });
  });
});

t.test('a 403 to HEAD does not show whose rights are missing: it is repeated once, and', async (t) => {
  const refused = REFUSED_IMPERSONATION.slice(0, REFUSED_IMPERSONATION.indexOf('{'));
  for (const [what, last, status] of [
    ['succeeds if the API server had just started', OK.replace('{}', ''), 200],
    ['passes if it is a 403 again', refused, 403],
  ] as const)
    t.test(what, async (t) => {
      const { relay, client, server } = await begun(t, GET.replace('GET', 'HEAD'), ALICE);
      server.send(refused);
      await eventually(() => relay.clock.pending > 0 && relay.calls.length === 1);
      relay.clock.advance(REFUSAL_PAUSE);
      await server.until('\r\n\r\nHEAD ');
      server.send(last);
      t.match(await client.until('\r\n\r\n'), new RegExp(`^HTTP/1.1 ${status} `));
      t.strictSame((await relay.ending()).heads, [status]);
    });
});

const LARGE = 'x'.repeat(64 * 1024 + 1);

t.test('a 201 whose body a feature reads', async (t) => {
  async function created(response: string) {
    const bodies: string[] = [];
    const onCreated = (read: Buffer) => void bodies.push(read.toString());
    const { relay, client, server } = await begun(t, GET, { onCreated });
    server.send(response);
    return { relay, client, server, bodies };
  }

  for (const [what, fields, body, read] of [
    ['is read', '201 Created', '{"a":"b"}', ['{"a":"b"}']],
    ['is not read if it is compressed', '201 Created\r\nContent-Encoding: gzip', 'gzip', []],
    ['is not read if it is over 64 kB', '201 Created', LARGE, []],
  ] as const)
    t.test(what, async (t) => {
      const response = `HTTP/1.1 ${fields}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const { client, relay, bodies } = await created(response);
      t.ok((await client.until(body)).endsWith(body), 'it passes unchanged');
      t.match(await relay.ending(), { result: { aborted: false } });
      t.same(bodies, read);
    });

  t.test('is not read if its chunks exceed 64 kB, and passes as it arrives', async (t) => {
    const { client, server, relay, bodies } = await created(
      `${WATCH_HEAD.replace('200', '201')}${chunk(LARGE)}`,
    );
    await client.until(LARGE);
    server.send(`${chunk('more')}0\r\n\r\n`);
    t.match(await relay.ending(), { result: { status: 201, aborted: false } });
    t.same(bodies, []);
  });

  t.test('is a 503 if it breaks off before it is read', async (t) => {
    const { client, server, relay, bodies } = await created(
      'HTTP/1.1 201 x\r\nContent-Length: 9\r\n\r\n{"a":',
    );
    server.socket.end();
    t.match(await client.until('UpstreamUnavailable'), /^HTTP\/1\.1 503 /);
    t.same([bodies, relay.calls], [[], ['ok']]);
  });
});

t.test('a 403 that a feature may replace', async (t) => {
  const fields = (more: string) =>
    `HTTP/1.1 403 Forbidden\r\nAudit-Id: a\r\nX-Content-Type-Options: nosniff\r\n${more}\r\n`;
  const replacement = {
    status: 404,
    headers: [
      ['Content-Type', 'text/plain'],
      ['Content-Length', '7'],
    ],
    body: Buffer.from('missing'),
  } as const;
  const forbidden = async (sent: string, replaces: boolean, options: RelayOptions = {}, request = GET) => {
    const bodies: string[] = [];
    const onForbidden = (body: Buffer) => {
      bodies.push(body.toString());
      return replaces ? replacement : undefined;
    };
    const { relay, client, server } = await begun(t, request, { ...options, onForbidden });
    server.send(sent);
    await relay.ending();
    return { received: await client.until('\r\n\r\n'), client, bodies };
  };

  t.test('is replaced with its fields', async (t) => {
    const { received, bodies } = await forbidden(
      `${fields('Content-Type: application/json\r\nContent-Length: 9\r\n')}forbidden`,
      true,
    );
    t.strictSame(bodies, ['forbidden']);
    t.match(received, /^HTTP\/1\.1 404 .*\r\nAudit-Id: a\r\nContent-Type: text\/plain\r\n.*missing$/s);
    t.notMatch(received, /nosniff|application\/json|forbidden/);
  });

  t.test('is replaced unread if it is compressed or over 64 kB', async (t) => {
    for (const sent of [
      `${fields('Content-Encoding: gzip\r\nContent-Length: 9\r\n')}forbidden`,
      `${fields(`Content-Length: ${LARGE.length}\r\n`)}${LARGE}`,
      `${fields('Transfer-Encoding: chunked\r\n')}${chunk(LARGE)}${chunk(LARGE)}0\r\n\r\n`,
    ]) {
      const { received, bodies } = await forbidden(sent, true);
      t.strictSame(bodies, ['']);
      t.match(received, /\r\n\r\nmissing$/);
    }
  });

  t.test('passes as it is without a replacement', async (t) => {
    const { client } = await forbidden(`${fields('Content-Length: 9\r\n')}forbidden`, false);
    t.match(await client.until('forbidden'), /^HTTP\/1\.1 403 .*nosniff.*\r\n\r\nforbidden$/s);
  });

  t.test('is a 503 if it is about Stonegate’s own rights', async (t) => {
    const { received, bodies } = await forbidden(REFUSED_IMPERSONATION, true, ALICE, POST.replace('10', '5'));
    t.match(received, /^HTTP\/1\.1 503 /);
    t.strictSame(bodies, []);
  });
});

t.test('when the upstream ends', async (t) => {
  t.test('close waits for running requests and leaves no connection open', async (t) => {
    const { relay, client, server } = await begun(t, GET);
    const closed = relay.adapter.close();
    server.send(OK);
    await client.until('{}');
    await closed;
    await eventually(() => server.ended);
    const later = await relay.request(GET);
    t.match(await later.until('\r\n\r\n'), /^HTTP\/1\.1 503 /);
  });

  t.test('close waits for a GET that is repeated after a lost connection', async (t) => {
    const { relay, client, server } = await begun(t, GET);
    server.send(OK);
    await relay.ending();
    client.send(GET.replace('/pods', '/again'));
    await server.until('/again');
    const closed = relay.adapter.close();
    server.socket.end();
    const second = await relay.upstream.next('/again');
    second.send(OK);
    t.match(await relay.ending(), { result: { status: 200 } });
    await closed;
  });

  for (const moment of ['before the 403', 'in the pause'] as const)
    t.test(`close waits for a GET that is repeated after a 403, if called ${moment}`, async (t) => {
      const { relay, server } = await begun(t, GET, ALICE);
      let done = false;
      const close = () => relay.adapter.close().then(() => (done = true));
      let closed = moment === 'before the 403' ? close() : undefined;
      server.send(REFUSED_IMPERSONATION);
      await eventually(() => relay.clock.pending > 0 && relay.calls.length === 1);
      closed ??= close();
      await eventually(() => server.ended);
      t.notOk(done);
      relay.clock.advance(REFUSAL_PAUSE);
      const second = await relay.upstream.next('\r\n\r\n');
      second.send(OK);
      t.match(await relay.ending(), { result: { status: 200 } });
      await closed;
    });

  t.test('destroy breaks off running requests', async (t) => {
    const { relay, client, server } = await begun(t, GET, WATCH);
    server.send(WATCH_HEAD);
    await client.until('\r\n\r\n');
    await relay.adapter.destroy();
    await client.untilEnd();
    await server.untilEnd();
    t.match(await relay.ending(), { result: { status: 200, aborted: true } });
  });
});

t.test('a watch whose bookmarks are dropped', async (t) => {
  const WATCHED = { ...WATCH, dropsBookmarks: true } as const;
  const MINE = '{"type":"ADDED","object":{"name":"mine"}}\n';
  const THEIRS = '{"type":"BOOKMARK","object":{"name":"theirs"}}\n';

  t.test('passes all other events, and ends at a line that is no event', async (t) => {
    const { relay, client, server } = await begun(t, GET, WATCHED);
    server.send(`${WATCH_HEAD}${chunk(`${MINE}${THEIRS.slice(0, 12)}`)}`);
    await client.until(MINE);
    server.send(chunk(THEIRS.slice(12)) + chunk(MINE.replace('mine', 'second')));
    await client.until('second');
    server.send(chunk('{"kind":"SecretList","secret":"theirs"}\n'));
    t.match(await relay.ending(), { result: { status: 200, aborted: true } });
    t.notMatch(await client.untilEnd(), /BOOKMARK|theirs/);
    t.match(relay.log, [{ level: 'warn', fields: { error: /no known event/ } }]);
    t.notMatch(JSON.stringify(relay.log), /theirs/);
  });

  t.test('is a 503 if the API server does not send JSON', async (t) => {
    const { relay, client, server } = await begun(t, GET, WATCHED);
    server.send(`${WATCH_HEAD.replace('json', 'x-protobuf')}${chunk('theirs')}`);
    t.equal(codeOf((await relay.ending()).error), 'UpstreamUnavailable');
    t.notMatch(await client.until('UpstreamUnavailable'), /theirs/);
  });

  t.test('passes a refusal of the API server unchanged', async (t) => {
    const { client, server } = await begun(t, GET, WATCHED);
    const status = '{"kind":"Status","code":403}';
    server.send(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${status.length}\r\n\r\n${status}`);
    t.match(await client.until(status), /^HTTP\/1\.1 403 /);
  });
});
