/**
 * The same properties of two HTTP/1.1 clients, ours and undici, against a server that sends arbitrary bytes:
 * both report the same result for a valid response, however it is split. Ours may be stricter; the last tests
 * name each class of input in which it is. `response-parser.test.ts` compares its parser with Node’s.
 */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import {
  type ClientRequest,
  createOurClient,
  createUndiciClient,
  type Outcome,
  type TestClient,
} from '../support/http1/client.ts';
import {
  type ScriptedResponse,
  type ScriptedServer,
  startScriptedServer,
} from '../support/http1/scripted-server.ts';

const CREATE = [createOurClient, createUndiciClient];

const CRLF = '\r\n';
const oftenEmpty = <T>(value: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<T[]>([]) },
    { weight: 2, arbitrary: fc.array(value, { maxLength }) },
  );

const token = fc.stringMatching(/^[a-zA-Z!#$%&'*+.^_`|~0-9-]{1,10}$/);
const field = fc
  .tuple(
    token.map((name) => `X-${name}`),
    fc.stringMatching(/^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]{0,20}[\x21-\x7e\x80-\xff])?)?$/),
  )
  .map(([name, value]) => [name, value] as const);
const blanks = fc.constantFrom('', ' ', '\t', ' \t ');
const content = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    '0\r\n\r\n',
    'x'.repeat(70_000),
  ),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
// Undici does not trim whitespace at the end of a value. Node's parser does: see `response-parser.test.ts`.
const line = ([name, value]: readonly [string, string], blank: string): string =>
  `${name}:${blank}${value}${CRLF}`;
/** Undici refuses an unexpected 100 response; `response-parser.test.ts` tests one with our client. */
const interim = fc
  .tuple(fc.constantFrom('102 Processing', '103 Early Hints'), oftenEmpty(field, 2))
  .map(
    ([status, fields]) => `HTTP/1.1 ${status}${CRLF}${fields.map((each) => line(each, ' ')).join('')}${CRLF}`,
  );

interface Valid {
  readonly method: 'GET' | 'HEAD';
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
  readonly framing: 'length' | 'chunked' | 'until close';
  readonly chunks: readonly string[];
  readonly extension: string;
  readonly trailers: readonly (readonly [string, string])[];
  readonly interim: readonly string[];
  readonly blank: string;
  readonly closes: boolean;
  readonly cuts: readonly number[];
}

const valid: fc.Arbitrary<Valid> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  status: fc.constantFrom(200, 200, 200, 201, 204, 206, 304, 404, 500),
  fields: fc.array(field, { maxLength: 4 }),
  framing: fc.constantFrom('length', 'chunked', 'until close'),
  chunks: fc.array(content, { maxLength: 3 }),
  extension: fc.constantFrom('', '', ';a', ';a=b', ';a=b;c'),
  trailers: oftenEmpty(field, 2),
  interim: oftenEmpty(interim, 2),
  blank: blanks,
  closes: fc.boolean(),
  cuts: fc.array(fc.nat(500), { maxLength: 8 }),
});

const isEmpty = ({ method, status }: Valid): boolean => method === 'HEAD' || status === 204 || status === 304;
/** A response without a body is not delimited by the end of the connection. */
const closes = (each: Valid): boolean => each.closes || (each.framing === 'until close' && !isEmpty(each));

function headersOf(each: Valid): (readonly [string, string])[] {
  const { framing, chunks, fields, status } = each;
  const framed: (readonly [string, string])[] = [];
  if (status !== 204 && framing === 'length') framed.push(['Content-Length', String(chunks.join('').length)]);
  if (status !== 204 && framing === 'chunked') framed.push(['Transfer-Encoding', 'chunked']);
  return [...fields, ...framed, ...(closes(each) ? [['Connection', 'close'] as const] : [])];
}

function scriptOf(each: Valid): ScriptedResponse {
  const { status, framing, chunks, extension, trailers, blank, cuts } = each;
  const head = `HTTP/1.1 ${status} x${CRLF}${headersOf(each)
    .map((one) => line(one, blank))
    .join('')}${CRLF}`;
  const chunked = [
    ...chunks
      .filter((chunk) => chunk !== '')
      .map((chunk) => `${chunk.length.toString(16)}${extension}${CRLF}${chunk}${CRLF}`),
    `0${extension}${CRLF}${trailers.map((one) => line(one, ' ')).join('')}${CRLF}`,
  ];
  const body = isEmpty(each) ? '' : (framing === 'chunked' ? chunked : chunks).join('');
  return { bytes: `${each.interim.join('')}${head}${body}`, cuts, ends: closes(each) };
}

async function withClients(run: (server: ScriptedServer, clients: readonly TestClient[]) => Promise<void>) {
  const server = await startScriptedServer();
  const clients = CREATE.map((create) => create(server.port));
  try {
    await run(server, clients);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await server.close();
  }
}

async function play(
  server: ScriptedServer,
  client: TestClient,
  responses: readonly ScriptedResponse[],
  requests: readonly ClientRequest[],
): Promise<Outcome[]> {
  server.play(responses);
  const outcomes: Outcome[] = [];
  for (const request of requests) outcomes.push(await client.request(request));
  return outcomes;
}

t.test('both clients receive a valid response as it was sent, however it is split', async (t) => {
  let reused = 0;
  const property = fc.asyncProperty(fc.array(valid, { minLength: 1, maxLength: 3 }), (sent) =>
    withClients(async (server, clients) => {
      const requests = sent.map(({ method }, index) => ({ method, target: `/${index}` }));
      for (const client of clients) {
        const outcomes = await play(server, client, sent.map(scriptOf), requests);
        for (const [index, each] of sent.entries()) {
          const outcome = outcomes[index];
          assert.ok(outcome?.kind === 'response', `${client.name}: ${JSON.stringify(outcome)}`);
          const { status, headers, body, trailers } = outcome;
          assert.deepEqual(
            { status, headers, body },
            {
              status: each.status,
              headers: headersOf(each),
              body: isEmpty(each) ? '' : each.chunks.join(''),
            },
            client.name,
          );
          const sentTrailers = each.framing === 'chunked' && !isEmpty(each) ? each.trailers : [];
          // Our client drops trailers on purpose. They must never become header fields.
          assert.deepEqual(trailers, client.name === 'undici' ? sentTrailers : []);
        }
        const ended = sent.slice(0, -1).filter(closes).length;
        if (client.name === 'our client')
          assert.equal(server.connections, ended + 1, 'connections are reused');
        if (server.connections < sent.length) reused += 1;
        assert.equal(server.pipelined, false, `${client.name} does not pipeline`);
      }
    }),
  );
  await t.resolves(fc.assert(property, { numRuns: 100 }));
  t.ok(reused > 20, `enough runs (${reused}) reused a connection`);
});

t.test('both clients receive an early response and do not reuse its connection', async (t) => {
  for (const create of CREATE) {
    const server = await startScriptedServer();
    const client = create(server.port);
    t.teardown(async () => {
      await client.close();
      await server.close();
    });
    const ok = { bytes: 'HTTP/1.1 413 x\r\nContent-Length: 2\r\n\r\n{}', cuts: [], ends: false };
    server.play([ok, ok]);
    const source = new Readable({ read: () => undefined });
    source.push('half');
    const early = await client.request({ method: 'POST', target: '/', body: { length: 8, source } });
    t.match(early, { kind: 'response', status: 413, body: '{}' }, client.name);
    t.match(
      await client.request({ method: 'GET', target: '/' }),
      { kind: 'response', status: 413 },
      client.name,
    );
    t.equal(server.connections, 2, client.name);
    source.destroy();
  }
});

const head = (...fields: string[]): string => ['HTTP/1.1 200 OK', ...fields, '', ''].join(CRLF);

const chunked = (body: string): string => `${head('Transfer-Encoding: chunked')}${body}`;
const empty = head('Content-Length: 0');

/** Responses that both clients refuse, since two parsers could read them in different ways. */
const MALFORMED: readonly (readonly [name: string, bytes: string])[] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
  ['a status of two digits', empty.replace('200', '20')],
  ['a switch of protocols that was not requested', 'HTTP/1.1 101 x\r\n\r\n'],
  ['an interim response that ends the connection', `HTTP/1.1 103 x\r\nConnection: close\r\n\r\n${empty}`],
  ['two different lengths', `${head('Content-Length: 1', 'Content-Length: 2')}ab`],
  ['two equal lengths', `${head('Content-Length: 1', 'Content-Length: 1')}a`],
  ['a list of lengths', `${head('Content-Length: 1,1')}a`],
  ['an empty length', `${head('Content-Length:')}`],
  ['a negative length', `${head('Content-Length: -1')}a`],
  ['a hexadecimal length', `${head('Content-Length: 0x1')}a`],
  ['a length and chunks', `${head('Content-Length: 1', 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\n\r\n`],
  ['a chunk without a size', chunked('\r\na\r\n0\r\n\r\n')],
  ['a chunk with a sign', chunked('+1\r\na\r\n0\r\n\r\n')],
  ['a chunk with a space after its size', chunked('1 \r\na\r\n0\r\n\r\n')],
  ['a chunk longer than its size', chunked('1\r\nab\r\n0\r\n\r\n')],
  ['a chunk extension with a space', chunked('1; a\r\na\r\n0\r\n\r\n')],
  ['a trailer without a colon', chunked('0\r\nbad trailer\r\n\r\n')],
  ['a bare LF at the end of a field', head('A: b\nContent-Length: 0')],
  ['a bare CR in a value', head('A: b\rc', 'Content-Length: 0')],
  ['a NUL in a value', head('A: b\0c', 'Content-Length: 0')],
  ['a folded field', head('A: b', ' c', 'Content-Length: 0')],
  ['a space before the colon', head('Content-Length : 0')],
  ['a field without a name', head(': x', 'Content-Length: 0')],
  ['a head that is too long', head(`A: ${'x'.repeat(70_000)}`, 'Content-Length: 0')],
];

/** Responses that only our client refuses; undici's parser is lenient. */
const STRICTER: readonly (readonly [name: string, bytes: string])[] = [
  ['HTTP/2', empty.replace('HTTP/1.1', 'HTTP/2.0')],
  ['an empty line before the status line', `${CRLF}${empty}`],
  ['chunks of HTTP/1.0', chunked('1\r\na\r\n0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0')],
  ['a transfer coding other than chunked', head('Transfer-Encoding: gzip')],
  ['a transfer coding before chunked', `${head('Transfer-Encoding: gzip, chunked')}1\r\na\r\n0\r\n\r\n`],
];

for (const [classes, refusing] of [
  [MALFORMED, 'both clients'],
  [STRICTER, 'our client, which is stricter'],
] as const) {
  for (const [name, bytes] of classes) {
    t.test(`${name} is refused by ${refusing}, however it is split`, async (t) => {
      const property = fc.asyncProperty(fc.array(fc.nat(200), { maxLength: 6 }), (cuts) =>
        withClients(async (server, clients) => {
          for (const client of clients) {
            const [outcome] = await play(
              server,
              client,
              [{ bytes, cuts, ends: true }],
              [{ method: 'GET', target: '/' }],
            );
            const expected =
              refusing === 'both clients' || client.name === 'our client' ? 'failure' : 'response';
            assert.equal(outcome?.kind, expected, client.name);
          }
        }),
      );
      await t.resolves(fc.assert(property, { numRuns: 3 }));
    });
  }
}
