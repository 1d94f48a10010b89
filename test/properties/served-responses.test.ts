/**
 * What an honest server sends, in whatever way, is taken, and its connection is used again if it may be.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import fc from 'fast-check';
import t from 'tap';
import { createTestPool } from '../support/raw-http/test-pool.ts';

interface Case {
  readonly method: 'GET' | 'HEAD' | 'DELETE';
  readonly status: number;
  readonly parts: readonly number[];
  readonly framing: 'length' | 'chunked' | 'chunked with trailers' | 'by itself' | 'until close';
  readonly interim: boolean;
  readonly pauses: boolean;
}

let now: Case;
const isEmpty = ({ method, status }: Case): boolean => method === 'HEAD' || status === 204 || status === 304;
const contentOf = ({ parts }: Case): Buffer =>
  Buffer.concat(parts.map((size, index) => Buffer.alloc(size, index + 65)));

const server = http.createServer((_request, response) => {
  const { status, parts, framing, interim } = now;
  if (interim) response.writeEarlyHints({ link: '</x>; rel=preload' });
  if (framing === 'length') response.setHeader('Content-Length', contentOf(now).length);
  const trailing = framing === 'chunked with trailers' && !isEmpty(now);
  if (trailing) response.setHeader('Trailer', 'X-Sum');
  if (framing === 'until close') {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, { 'X-Thing': 'a' });
  if (framing !== 'by itself') response.flushHeaders();
  for (const [index, size] of parts.entries()) response.write(Buffer.alloc(size, index + 65));
  if (trailing) response.addTrailers({ 'X-Sum': '1' });
  response.end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('no port');
const { pool, ask, sockets } = createTestPool({ server: `http://127.0.0.1:${address.port}` });
t.teardown(async () => {
  await pool.destroy();
  server.close();
});

const cases: fc.Arbitrary<Case> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'DELETE'),
  status: fc.constantFrom(200, 200, 201, 204, 205, 304, 404, 500),
  parts: fc.array(fc.constantFrom(1, 15, 16, 17, 2_000, 65_536, 300_000), { maxLength: 4 }),
  framing: fc.constantFrom('length', 'chunked', 'chunked with trailers', 'by itself', 'until close'),
  interim: fc.boolean(),
  pauses: fc.boolean(),
});

t.test('what a server of Node’s sends is taken', async (t) => {
  const property = fc.asyncProperty(cases, async (chosen) => {
    now = chosen;
    const { method, status, framing, pauses } = chosen;
    const before = sockets.length;
    const asked = ask({ method, target: '/x' }, (told) => {
      if (!pauses || told !== 'onData') return;
      asked.pending?.pause();
      setImmediate(() => asked.pending?.resume());
    });
    await asked.ended;
    assert.deepEqual([asked.error, asked.status], [undefined, status]);
    assert.ok(asked.content === (isEmpty(chosen) ? '' : contentOf(chosen).toString('latin1')));
    assert.ok(asked.fields.some(([name, value]) => name === 'X-Thing' && value === 'a'));
    const contradicts = status === 204 && framing === 'length' && contentOf(chosen).length > 0;
    if (framing === 'until close' || contradicts) await once(sockets.at(-1) ?? assert.fail(), 'close');
    assert.ok(sockets.length <= before + 1);
  });
  await t.resolves(fc.assert(property, { numRuns: 300 }));
});
