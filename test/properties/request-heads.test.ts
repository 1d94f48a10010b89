/**
 * Stonegate sends exactly one request with exactly the given fields, or nothing: a smuggled second request
 * would carry Stonegate’s own identity.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import { requestHead } from '../../src/upstream/header-rules.ts';
import { Http1Error } from '../../src/upstream/http1/errors.ts';
import type { RequestFraming } from '../../src/upstream/http1/serializer.ts';
import { MemorySocket } from '../support/raw-http/node-reading.ts';
import { createTestPool } from '../support/raw-http/test-pool.ts';

interface Read {
  readonly requests: readonly Pick<http.IncomingMessage, 'method' | 'url' | 'rawHeaders'>[];
  readonly refused: boolean;
}

/** Parses the bytes, in one or two pieces, with Node's HTTP server. */
function readByNode(bytes: Buffer, place: number): Read {
  const requests: http.IncomingMessage[] = [];
  let refused = false;
  const server = http.createServer((request) => requests.push(request));
  server.on('clientError', () => {
    refused = true;
  });
  const socket = new MemorySocket();
  server.emit('connection', socket);
  for (const piece of [bytes.subarray(0, place), bytes.subarray(place)])
    if (piece.length > 0) socket.emit('data', piece);
  socket.destroy();
  return { requests, refused };
}

const odd = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'a b',
    'a\r\nb',
    'a\n',
    '\r',
    'a\0',
    'a:b',
    '\x7f',
    '\xe9',
    '\u2028',
    '\u010d\u010a',
    'ſ',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...http.METHODS.filter((each) => each !== 'CONNECT')) },
  { weight: 1, arbitrary: fc.oneof(odd, fc.constantFrom('CONNECT', 'GET / HTTP/1.1\r\n\r\nGET', 'get')) },
);
const target = fc.oneof(
  { weight: 6, arbitrary: fc.webPath({ size: 'small' }).map((path) => `/${path}`) },
  { weight: 1, arbitrary: odd.map((text) => `/${text}`) },
  { weight: 1, arbitrary: fc.constantFrom('', '/ HTTP/1.1\r\nX: y', '/\x7f') },
);
const name = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[a-zA-Z!#$%&'*+.^_`|~0-9-]{1,12}$/) },
  { weight: 1, arbitrary: odd },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[
        'Content-Length',
        'transfer-encoding',
        'Connection',
        'Host',
        'Upgrade',
        'Expect',
        'Transfer-Encoding ',
      ],
    ),
  },
);
const value = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,20}$/) },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.constantFrom('0', 'chunked', 'close', 'a\r\nImpersonate-User: b', ' a\t') },
);
const fields = fc.array(fc.tuple(name, value), { maxLength: 4 });
const token = fc.option(value, { nil: undefined });
const framing: fc.Arbitrary<RequestFraming> = fc.constantFrom<RequestFraming>('none', 'chunked', 0, 5);

/** Fields that each hop sets itself. */
const isOurs = (each: string): boolean =>
  /^(?:connection|content-length|expect|host|http2-settings|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i.test(
    each,
  );
const trimmed = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '');

function written(...request: Parameters<typeof requestHead>): Buffer | undefined {
  try {
    const head = requestHead(...request);
    assert.doesNotMatch(head, /[^\0-\xff]/, 'nothing changes in latin1');
    return Buffer.from(head, 'latin1');
  } catch (error) {
    const { code } = error instanceof Http1Error || error instanceof StatusError ? error : assert.fail();
    assert.ok(code === 'InvariantBroken' || code === 'REQUEST_INVALID');
    return undefined;
  }
}

function framingOf(asked: string, framing: RequestFraming): string[] {
  if (framing === 'chunked') return ['transfer-encoding', 'chunked'];
  if (framing !== 'none') return ['content-length', String(framing)];
  return ['POST', 'PUT', 'PATCH'].includes(asked) ? ['content-length', '0'] : [];
}

t.test('a request head is sent as one request with the given fields, or is refused', async (t) => {
  let sent = 0;
  const property = fc.property(
    method,
    target,
    fields,
    token,
    framing,
    fc.nat(400),
    (asked, path, list, said, framed, place) => {
      const head = written(asked, path, 'api.example:6443', list, said, framed);
      if (head === undefined) return;
      sent += 1;
      assert.ok(head.toString('latin1').startsWith(`${asked} ${path} HTTP/1.1\r\n`));
      if (!http.METHODS.includes(asked)) return;
      const { requests, refused } = readByNode(head, place % head.length);
      assert.equal(refused, false);
      assert.equal(requests.length, 1);
      const [request] = requests;
      assert.deepEqual([request?.method, request?.url], [asked, path]);
      assert.deepEqual(request?.rawHeaders, [
        ...['host', 'api.example:6443', 'connection', 'keep-alive'],
        ...list.flatMap(([each, held]) => (isOurs(each) ? [] : [each, trimmed(held)])),
        ...(said === undefined ? [] : ['Authorization', trimmed(`Bearer ${said}`)]),
        ...framingOf(asked, framed),
      ]);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 3_000 }));
  t.ok(sent > 500, 'enough requests were sent');
});

t.test(
  'a body arrives completely or its request fails, and no part of it is read as another request',
  async (t) => {
    const seen: { url: string | undefined; body: Buffer; whole: boolean }[] = [];
    const server = http.createServer(async (request, response) => {
      const parts: Buffer[] = [];
      const entry = { url: request.url, body: Buffer.alloc(0), whole: false };
      seen.push(entry);
      request.on('error', () => undefined).on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        entry.body = Buffer.concat(parts);
        entry.whole = request.complete;
        response.end('taken');
      });
    });
    server.on('clientError', (_error, socket) => socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const { pool, ask } = createTestPool({ server: `http://127.0.0.1:${address.port}` });
    t.teardown(async () => {
      await pool.destroy();
      server.closeAllConnections();
      server.close();
    });

    const smuggled = Buffer.from('GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n');
    const part = fc.oneof(
      fc.constantFrom(Buffer.alloc(0), smuggled, Buffer.from('0\r\n\r\n'), Buffer.alloc(70_000, 'x')),
      fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    );
    const promise = fc.constantFrom('chunked', 'exact', 'exact', 'at once', 'more', 'less', 'nothing');
    const property = fc.asyncProperty(fc.array(part, { maxLength: 6 }), promise, async (parts, promised) => {
      seen.length = 0;
      const content = Buffer.concat(parts);
      const off =
        promised === 'more' ? 1 : promised === 'less' ? -Math.min(smuggled.length, content.length) : 0;
      const framed: RequestFraming =
        promised === 'chunked' ? 'chunked' : promised === 'nothing' ? 'none' : content.length + off;
      const body = promised === 'at once' ? content : Readable.from(parts);
      const one = ask({ method: 'POST', target: '/one', framing: framed, body });
      await one.ended;
      const next = ask({ target: '/next' });
      await next.ended;
      assert.deepEqual([next.status, next.content], [200, 'taken']);
      const [first] = seen.filter(({ url }) => url === '/one');
      assert.equal(one.ends, 1);
      if (off === 0 && promised !== 'nothing') {
        assert.equal(one.error, undefined);
        assert.ok(first?.whole && first.body.equals(content));
      } else if (off < 0) {
        // The announced bytes may have arrived and received a response before the excess bytes.
        assert.ok(!first?.whole || first.body.equals(content.subarray(0, off)));
      } else {
        assert.ok(one.error !== undefined && first?.whole !== true);
      }
      assert.ok(seen.every(({ url }) => url === '/one' || url === '/next'));
    });
    await t.resolves(fc.assert(property, { numRuns: 200 }));
  },
);
