import { once } from 'node:events';
import { connect, constants, createServer, type ServerHttp2Stream } from 'node:http2';
import t from 'tap';
import type { HeaderList } from '../../../src/lib/header-list.ts';
import { requestFraming, responseHeaders, upgradeFields } from '../../../src/upstream/header-rules.ts';

/** Fields that are separated by commas. */
const fieldsOf = (text: string): HeaderList =>
  text.split(', ').map((field) => {
    const [name = '', value = ''] = field.split(': ');
    return [name, value] as const;
  });

t.test('outgoing headers', async (t) => {
  t.test('carry no hop-by-hop field, no Host and no framing of the client', async (t) => {
    const text = 'Connection HOST Expect TE Transfer-Encoding Content-Length Upgrade Keep-Alive';
    const names = text.split(' ');
    t.same(upgradeFields([...names.map((name) => [name, 'x'] as const), ['Accept', 'y']], undefined), [
      'Accept',
      'y',
    ]);
  });

  for (const token of [undefined, 'ours'])
    t.test(`C088 are refused with an Authorization of any spelling, with ${token ?? 'no'} token`, async (t) =>
      t.throws(() => upgradeFields([['AUTHORIZATION', 'Basic x']], token), { code: 'InvariantBroken' }),
    );
});

t.test('framing', async (t) => {
  for (const [name, httpVersion, method, headers, expected] of [
    ['HTTP/1.1 without a length or chunks has no body', '1.1', 'DELETE', [], 'none'],
    ['HTTP/1.1 with a length', '1.1', 'POST', [['content-length', '12']], 12],
    ['a length of 0 means no body', '1.1', 'POST', [['Content-Length', '0']], 'none'],
    ['HTTP/1.1 with chunks', '1.1', 'POST', [['Transfer-Encoding', 'chunked']], 'chunked'],
    ['HTTP/2 without a length may have a body', '2.0', 'PATCH', [], 'chunked'],
    ['HTTP/2 without a length has none on a GET', '2.0', 'GET', [], 'none'],
  ] as const)
    t.test(name, async (t) => t.equal(requestFraming({ httpVersion, method, headers }), expected));

  for (const given of ['Content-Length: 1e3', 'Content-Length: ', 'Content-Length: 1, Content-Length: 1'])
    t.test(`C209 ${given} is refused`, async (t) =>
      t.throws(() => requestFraming({ httpVersion: '1.1', method: 'POST', headers: fieldsOf(given) }), {
        code: 'RequestMalformed',
      }),
    );
});

t.test('response headers', async (t) => {
  t.test('that no listener could send are left out', async (t) =>
    t.same(responseHeaders(200, fieldsOf('X-Bad: a\u0000b, X-Good: é')), fieldsOf('X-Good: é')),
  );

  t.test('keep every repetition of a list field, and the first of any other', async (t) =>
    t.same(
      responseHeaders(200, fieldsOf('Vary: a, ETag: 1, vary: b, etag: 2, Set-Cookie: x=1, Set-Cookie: y=2')),
      fieldsOf('Vary: a, ETag: 1, vary: b, Set-Cookie: x=1, Set-Cookie: y=2'),
    ),
  );
});

t.test('HTTP/2 accepts what is left of any repeated response field', async (t) => {
  const known = Object.entries(constants).flatMap(([key, name]) =>
    key.startsWith('HTTP2_HEADER_') && typeof name === 'string' && !name.startsWith(':') ? [name] : [],
  );
  t.ok(known.length > 50);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const client = connect(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  for (const name of known) {
    const fields = responseHeaders(200, [
      [name, 'a'],
      [name.toUpperCase(), 'b'],
    ]);
    const request = client.request({ ':path': `/${name}` });
    const [stream]: ServerHttp2Stream[] = await once(server, 'stream');
    const values = fields.map(([, value]) => value);
    t.doesNotThrow(() => stream?.respond(values.length === 0 ? {} : { [name]: values }), name);
    stream?.close();
    request.destroy();
  }
});

for (const status of [204, 304])
  t.test(`a ${status} loses its Content-Length`, async (t) =>
    t.same(responseHeaders(status, fieldsOf('Content-Length: 4, ETag: 1')), fieldsOf('ETag: 1')),
  );

t.test('only a path in Location is given the prefix of the client’s path', async (t) => {
  const sent = (value: string, prefix?: string) =>
    responseHeaders(302, [['location', value]], prefix).map(([, location]) => location);
  t.same(sent('/api/v1/namespaces/web/services/x/proxy/login', '/tenants/globex'), [
    '/tenants/globex/api/v1/namespaces/web/services/x/proxy/login',
  ]);
  t.same(sent('/', '/tenants/globex'), ['/tenants/globex/']);
  for (const other of ['https://other.example/a', '//other.example/a', '/\\other.example', 'relative', ''])
    t.same(sent(other, '/tenants/globex'), [other]);
  t.same(sent('/api'), ['/api']);
});
