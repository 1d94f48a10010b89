/**
 * The end of a response decides what the next user receives. Any bytes are parsed alike however they are
 * split, Node’s parser agrees, and bytes after a response belong to no response.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { readByNode } from '../support/raw-http/node-reading.ts';
import { readByUs, sizeByUs } from '../support/raw-http/our-reading.ts';

const CRLF = '\r\n';
const rarely = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const lineEnd = rarely(CRLF, '\n', '\r', '\r\r\n', '\n\r\n', ' \r\n');
const line = (text: fc.Arbitrary<string>) => fc.tuple(text, lineEnd).map((parts) => parts.join(''));

const field = line(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('A: b', 'Warning: 299 - "x"', 'a:b', 'X:', 'X: \t y \t', 'X: a: b'),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom('Connection: close', 'connection: Keep-Alive', 'Connection: X, close'),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'Keep-Alive: timeout=5',
        'X: \xe9\xff',
        'Trailer: A',
        'Upgrade: h2c',
        'Connection:',
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...[' folded', '\tfolded: x', 'A : b', 'A\t: b', ': b', 'no colon', 'A\0: b', 'X: \0', 'X: \x0b'],
        ...['X: \x7f', 'X\xe9: y', '(): y', 'HTTP/1.1 200 OK', 'Connection: upgrade'],
      ),
    },
  ),
);

const FRAMING: readonly ((size: number) => string)[] = [
  (size) => `Content-Length: ${size}`,
  (size) => `content-length:${size} `,
  () => 'Transfer-Encoding: chunked',
  () => 'transfer-encoding: CHUNKED',
  () => 'A: b',
];
const ODD_FRAMING: readonly ((size: number) => string)[] = [
  (size) => `Content-Length: +${size}`,
  (size) => `Content-Length: -${size}`,
  (size) => `Content-Length: 0${size}`,
  (size) => `Content-Length: 0x${size}`,
  (size) => `Content-Length: ${size} 1`,
  (size) => `Content-Length: ${size}, ${size}`,
  (size) => `Content-Length: ${size}\r\nContent-Length: ${size}`,
  (size) => `Content-Length: ${size}\r\nContent-Length: 0`,
  (size) => `Content-Length: ${size}.0`,
  (size) => `Content-Length : ${size}`,
  (size) => `Content-Length: ${size}\r\nTransfer-Encoding: chunked`,
  (size) => `Transfer-Encoding: chunked\r\nContent-Length: ${size}`,
  () => 'Content-Length:',
  () => 'Content-Length: 99999999999999999999',
  () => 'Transfer-Encoding: gzip',
  () => 'Transfer-Encoding: gzip, chunked',
  () => 'Transfer-Encoding: chunked, gzip',
  () => 'Transfer-Encoding: chunked, chunked',
  () => 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
  () => 'Transfer-Encoding: identity',
  () => 'Transfer-Encoding: \x0bchunked',
  () => 'Transfer-Encoding:',
  () => 'Transfer-Encoding: chunked;q=1',
];
const framing = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...FRAMING) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_FRAMING) },
);

const content = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    '{"kind":"Pod"}',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi',
    '0\r\n\r\n',
    '\r\n',
  ),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);

const sizeOf = (text: string) => {
  const hex = text.length.toString(16);
  return rarely(
    hex,
    hex.toUpperCase(),
    `0${hex}`,
    `000${hex}`,
    ` ${hex}`,
    `${hex} `,
    `0x${hex}`,
    `+${hex}`,
    '',
  );
};
const extension = rarely('', ';a', ';a=b', ';a;b=c', ';', ';a="b c"', ' ;a', ';\0', ';a\n', ';\x7f');
const chunk = content.chain((text) =>
  text === ''
    ? fc.constant('')
    : fc.tuple(sizeOf(text), extension, lineEnd, fc.constant(text), lineEnd).map((parts) => parts.join('')),
);
const trailer = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, { weight: 1, arbitrary: field });
const chunks = fc
  .tuple(
    fc.array(chunk, { maxLength: 3 }),
    rarely('0', '00', '0000', '', '-0'),
    extension,
    lineEnd,
    trailer,
    lineEnd,
  )
  .map(([parts, ...last]) => parts.join('') + last.join(''));

const version = rarely(
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'http/1.1',
  'HTTP/1.1 ',
  'ICY',
);
const status = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('200', '404', '500', '206') },
  { weight: 3, arbitrary: fc.constantFrom('204', '304', '205', '401') },
  { weight: 1, arbitrary: fc.constantFrom('099', '600', '999', '20', '2000', '0x1', '101', '100', '') },
);
const reason = rarely(' OK', '', ' ', ' Not Found', ' \xe9', ' a\tb', ' \0', '\tOK');
const statusLine = line(fc.tuple(version, fc.constant(' '), status, reason).map((parts) => parts.join('')));

const interim = fc
  .tuple(
    fc.constantFrom('100 Continue', '103 Early Hints', '102 x', '101 x'),
    fc.constantFrom('', 'Link: </x>\r\n', 'Content-Length: 3\r\n', 'Connection: close\r\n'),
  )
  .map(([start, fields]) => `HTTP/1.1 ${start}\r\n${fields}\r\n`);

const whole = fc
  .record({
    interim: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(interim, { maxLength: 2 }) },
    ),
    statusLine,
    before: fc.array(field, { maxLength: 2 }),
    framing,
    behind: fc.array(field, { maxLength: 2 }),
    end: lineEnd,
    content,
    chunks,
    tail: fc.constantFrom('', '', CRLF, 'x', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  })
  .map((parts) => {
    const framed = parts.framing(parts.content.length);
    const body = /chunked/i.test(framed) ? parts.chunks : parts.content;
    const head = [
      ...parts.interim,
      parts.statusLine,
      ...parts.before,
      framed,
      CRLF,
      ...parts.behind,
      parts.end,
    ];
    return head.join('') + body + parts.tail;
  });

/** Inserts, removes or replaces a byte. */
const mutation = fc.record({
  at: fc.nat(300),
  removed: fc.constantFrom(0, 1, 1, 2),
  added: fc.constantFrom(
    '',
    '',
    ' ',
    '\t',
    '\r',
    '\n',
    '\0',
    ':',
    ',',
    ';',
    '0',
    '1',
    'f',
    'x',
    '\xff',
    '\x7f',
  ),
});
const bytes = fc
  .tuple(
    whole,
    fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(mutation, { maxLength: 2 }) },
    ),
  )
  .map(([text, mutations]) =>
    Buffer.from(
      mutations.reduce((t, { at, removed, added }) => t.slice(0, at) + added + t.slice(at + removed), text),
      'latin1',
    ),
  );
const method = fc.oneof(
  { weight: 4, arbitrary: fc.constant('GET') },
  { weight: 1, arbitrary: fc.constant('HEAD') },
);

function cutAt(answer: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (answer.length + 1)), answer.length].sort((a, b) => a - b);
  return at.slice(1).map((end, index) => answer.subarray(at[index], end));
}

t.test('the parsed response does not depend on how its bytes are split', async (t) => {
  const property = fc.property(
    bytes,
    method,
    fc.array(fc.nat(400), { maxLength: 8 }),
    (answer, asked, places) => {
      const atOnce = readByUs([answer], asked);
      assert.deepEqual(readByUs(cutAt(answer, places), asked), atOnce);
      assert.deepEqual(readByUs(cutAt(answer, [...answer.keys()]), asked), atOnce);
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 3_000 }));
});

t.test('Node’s parser agrees on every accepted response', async (t) => {
  let accepted = 0;
  const property = fc.asyncProperty(bytes, method, async (answer, asked) => {
    const ours = readByUs([answer], asked);
    if (ours.ended === 0) return;
    accepted += 1;
    const size = sizeByUs(answer, asked) ?? answer.length;
    const announced = ours.fields?.some(
      ([name, value]) => /^(content-length|transfer-encoding)$/i.test(name) && !/^0+$/.test(value),
    );
    if (ours.status === 204 && announced) {
      // The server contradicts itself, so the connection is not used again.
      assert.deepEqual([ours.content, ours.persistent], ['', false]);
      return;
    }
    const { status, fields, content } = ours;
    const node = await readByNode(answer, asked);
    assert.deepEqual(
      { status: node?.status, content: node?.content, size: node?.size, fields: node?.fields },
      { status, content, size, fields },
    );
    // Node reads a response to HEAD without a length until the connection closes.
    if (ours.persistent && asked === 'GET') assert.ok(node?.persistent);
  });
  await t.resolves(fc.assert(property, { numRuns: 3_000 }));
  t.ok(accepted > 500, 'enough responses were accepted');
});

t.test('bytes after a response belong to no response', async (t) => {
  const behind = fc.oneof(
    bytes,
    fc.constantFrom('x', CRLF, '0\r\n\r\n').map((text) => Buffer.from(text)),
  );
  const property = fc.property(bytes, method, behind, fc.nat(400), (answer, asked, rest, place) => {
    const size = sizeByUs(answer, asked);
    if (size === undefined || rest.length === 0) return;
    const alone = readByUs([answer.subarray(0, size)], asked);
    const joined = Buffer.concat([answer.subarray(0, size), rest]);
    const refused = { ...alone, refusal: 'bytes that belong to no request' };
    for (const pieces of [[joined], cutAt(joined, [place]), cutAt(joined, [size])])
      assert.deepEqual(readByUs(pieces, asked), refused);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 3_000 }));
});

t.test('an aborted response is never reported as complete, wherever it breaks off', async (t) => {
  const property = fc.property(bytes, method, (answer, asked) => {
    const size = sizeByUs(answer, asked);
    if (size === undefined) return;
    const { content } = readByUs([answer.subarray(0, size)], asked);
    for (let end = 0; end < size; end += 1) {
      const broken = readByUs([answer.subarray(0, end)], asked);
      assert.deepEqual([broken.ended, broken.refusal], [0, undefined]);
      assert.ok(content.startsWith(broken.content));
    }
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }));
});
