import t from 'tap';
import { MAX_HEADER_BYTES } from '../../../../src/upstream/http1/response-parser.ts';
import { type OurReading, readByUs } from '../../../support/raw-http/our-reading.ts';

const read = (text: string, method = 'GET'): OurReading => readByUs([Buffer.from(text, 'latin1')], method);
/** An answer with these fields and nothing behind its head. */
const head = (...fields: string[]): string => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
const chunked = (content: string): string => head('Transfer-Encoding: chunked') + content;

t.test('an answer', async (t) => {
  for (const [name, answer, reading] of [
    ['without framing ends with the connection', `${head()}all`, { content: 'all', persistent: false }],
    ['without a reason is one', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200 }],
    ['that says close is the last', head('Content-Length: 0', 'Connection: x, Close'), { persistent: false }],
    [
      'that says close in a second field is the last',
      head('Content-Length: 0', 'Connection: x', 'connection: close'),
      { persistent: false },
    ],
    ['of HTTP/1.0 is the last', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', { persistent: false }],
    [
      'of HTTP/1.0 with keep-alive is not reused',
      'HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
      { persistent: true },
    ],
    [
      'tells its idle timeout',
      head('Content-Length: 0', 'Keep-Alive: max=9, timeout=7'),
      { keepAliveTimeout: 7 },
    ],
    [
      'may tell nothing of that',
      head('Content-Length: 0', 'Keep-Alive: max=9'),
      { keepAliveTimeout: undefined },
    ],
    ['of 204 may say so', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', { persistent: true }],
    [
      'of 204 that announces content is the last',
      'HTTP/1.1 204 x\r\nContent-Length: 1\r\n\r\n',
      { persistent: false },
    ],
    [
      'of 304 has no content',
      'HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n',
      { content: '', persistent: true },
    ],
    ['of an unknown status has content', 'HTTP/1.1 099 x\r\nContent-Length: 1\r\n\r\na', { content: 'a' }],
  ] as const) {
    t.test(name, async (t) => {
      t.match(read(answer), { ...reading, ended: 1, refusal: undefined });
    });
  }

  t.test('to HEAD has no content, whatever it announces', async (t) => {
    for (const fields of [['Content-Length: 9'], ['Transfer-Encoding: chunked'], []])
      t.match(read(head(...fields), 'HEAD'), { content: '', ended: 1, persistent: true, refusal: undefined });
  });

  t.test('with a field of nothing but blanks is read in no time', async (t) => {
    const blanks = ' '.repeat(60_000);
    const { fields } = read(head(`A: x${blanks}y\t`, 'Content-Length: 0'));
    t.equal(fields?.[0]?.[1].length, 60_002);
  });
});

t.test('no answer is', async (t) => {
  for (const [name, answer, refusal] of [
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'no HTTP/1.x status line'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n', 'no HTTP/1.x status line'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', 'no HTTP/1.x status line'],
    ['a status line behind an empty one', '\r\nHTTP/1.1 200 OK\r\n\r\n', 'no HTTP/1.x status line'],
    ['a request', 'GET / HTTP/1.1\r\n\r\n', 'no HTTP/1.x status line'],
    ['a bare LF behind the status', 'HTTP/1.1 200 OK\nA: b\r\n\r\n', 'no HTTP/1.x status line'],
    ['a bare CR behind the status', 'HTTP/1.1 200 OK\r\r\n\r\n', 'no HTTP/1.x status line'],
    ['a NUL in the reason', 'HTTP/1.1 200 O\0K\r\n\r\n', 'no HTTP/1.x status line'],
    ['a bare LF', head('A: b\nC: d'), 'a field with control characters or bare line ends'],
    ['a bare CR', head('A: b\rC: d'), 'a field with control characters or bare line ends'],
    ['a CR before the end', head('A: b\r'), 'a field with control characters or bare line ends'],
    ['a NUL', head('A: b\0c'), 'a field with control characters or bare line ends'],
    ['a bare LF in a name', head('A\nB: c'), 'an invalid field name'],
    ['a folded field', head('A: b', ' c'), 'a field without a colon'],
    ['a folded field with a colon', head('A: b', ' c: d'), 'an invalid field name'],
    ['a blank before the colon', head('Content-Length : 1'), 'an invalid field name'],
    ['a field without a name', head(': x'), 'an invalid field name'],
    ['a name beyond ASCII', head('\xe9: x'), 'an invalid field name'],
    [
      'more than one Content-Length',
      head('Content-Length: 1', 'content-length: 1'),
      'more than one Content-Length',
    ],
    [
      'two codings',
      head('Transfer-Encoding: chunked', 'TRANSFER-ENCODING: chunked'),
      'more than one Transfer-Encoding',
    ],
    [
      'a length and chunks',
      head('Content-Length: 1', 'Transfer-Encoding: chunked'),
      'both Content-Length and Transfer-Encoding',
    ],
    [
      'chunks of HTTP/1.0',
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      'a transfer coding other than chunked',
    ],
    ['another coding', head('Transfer-Encoding: gzip, chunked'), 'a transfer coding other than chunked'],
    [
      'another protocol on the same connection',
      'HTTP/1.1 101 x\r\n\r\n',
      'a switch to another protocol that was not requested',
    ],
    [
      'one behind an interim one that says close',
      `HTTP/1.1 103 x\r\nConnection: close\r\n\r\n${head('Content-Length: 0')}`,
      'an interim response that ends the connection',
    ],
    ...['', '+1', '-1', '1,1', '1 1', '0x1', '1.0', '1e1', '9'.repeat(16)].map(
      (length) =>
        [`a length of "${length}"`, head(`Content-Length: ${length}`), 'an invalid Content-Length'] as const,
    ),
  ] as const) {
    t.test(name, async (t) => {
      t.match(read(answer), { ended: 0, status: undefined, refusal });
      t.match(read(answer, 'HEAD'), { ended: 0, status: undefined, refusal }, 'to HEAD neither');
    });
  }

  for (const [name, content, refusal] of [
    ['without a size', '\r\na\r\n0\r\n\r\n', 'a chunk without a size'],
    ['of an extension alone', ';a\r\n', 'a chunk without a size'],
    ['with a sign', '+1\r\na\r\n', 'a chunk without a size'],
    ['with a prefix', '0x1\r\na\r\n', 'a chunk that does not end as its size says'],
    ['with a blank behind its size', '1 \r\na\r\n', 'a chunk that does not end as its size says'],
    ['of an impossible size', '1000000000000\r\n', 'a chunk of an impossible size'],
    ['with a bare LF', '1\na\r\n', 'a chunk that does not end as its size says'],
    ['with a bare LF behind its extension', '1;a\na\r\n', 'an invalid chunk extension or trailer'],
    ['with an extension that is none', '1; \r\na\r\n', 'an invalid chunk extension or trailer'],
    [
      'with extensions without an end',
      `1;${'a'.repeat(20_000)}`,
      'chunk extensions or trailers that are too long',
    ],
    ['longer than it said', '1\r\nab\r\n', 'a chunk that does not end as its size says'],
    ['ended by a bare LF', '1\r\na\n0\r\n\r\n', 'a chunk that does not end as its size says'],
    [
      'followed by a trailer that is none',
      '0\r\nno trailer\r\n\r\n',
      'an invalid chunk extension or trailer',
    ],
    ['followed by a folded trailer', '0\r\nA: b\r\n c\r\n\r\n', 'an invalid chunk extension or trailer'],
    [
      'followed by a trailer with a NUL',
      '0\r\nA: \0\r\n\r\n',
      'a control character in a chunk extension or trailer',
    ],
    ['followed by a bare LF', '0\r\n\n', 'an invalid chunk extension or trailer'],
    [
      'followed by trailers without an end',
      `0\r\n${'A: b\r\n'.repeat(5_000)}`,
      'chunk extensions or trailers that are too long',
    ],
  ] as const) {
    t.test(`a chunk ${name}`, async (t) => {
      t.match(read(chunked(content)), { ended: 0, status: 200, refusal });
    });
  }

  t.test(
    'a head that is longer than allowed, at once or bit by bit, alone or with interim ones',
    async (t) => {
      const refusal = 'a head that is too long';
      const interim = 'HTTP/1.1 103 x\r\n\r\n';
      const size = (length: number) => {
        const rest = length - head('A: ', 'Content-Length: 0').length;
        return head(`A: ${'x'.repeat(rest)}`, 'Content-Length: 0');
      };
      t.match(read(size(MAX_HEADER_BYTES)), { ended: 1, refusal: undefined });
      t.match(read(size(MAX_HEADER_BYTES + 1)), { status: undefined, refusal });
      t.match(read(size(MAX_HEADER_BYTES + 5).slice(0, -4)), { status: undefined, refusal });
      t.match(read(interim + size(MAX_HEADER_BYTES - 5)), { status: undefined, refusal });
      t.match(read(interim.repeat(5_000)), { status: undefined, refusal });
    },
  );

  t.test('what follows another one', async (t) => {
    const one = head('Content-Length: 0');
    for (const behind of [one, 'x', '\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'])
      t.match(read(one + behind), { ended: 1, content: '', refusal: 'bytes that belong to no request' });
  });
});
