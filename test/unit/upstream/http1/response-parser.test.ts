/** Single forms of responses; `properties/response-parser.test.ts` compares any bytes with Node's parser. */
import t from 'tap';
import { MAX_HEADER_BYTES } from '../../../../src/upstream/http1/response-parser.ts';
import { readByUs } from '../../../support/raw-http/our-reading.ts';

const read = (text: string, method = 'GET') => readByUs([Buffer.from(text, 'latin1')], method);
/** A response with these fields and no body. */
const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
const empty = (...fields: string[]) => head('Content-Length: 0', ...fields);

t.test('a response', async (t) => {
  for (const [name, response, reading] of [
    [
      'without Content-Length or chunks ends with the connection',
      `${head()}all`,
      { content: 'all', persistent: false },
    ],
    ['needs no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200 }],
    [
      'with "close" in any Connection field is the last on its connection',
      empty('Connection: x', 'connection: y, Close'),
      { persistent: false },
    ],
    [
      'in HTTP/1.0 is the last on its connection',
      'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
      { persistent: false },
    ],
    [
      'in HTTP/1.0 with keep-alive may be followed by another',
      'HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n',
      { persistent: true },
    ],
    ['may name its idle timeout', empty('Keep-Alive: max=9, timeout=7'), { keepAliveTimeout: 7 }],
    ['may name no idle timeout', empty('Keep-Alive: max=9'), { keepAliveTimeout: undefined }],
    [
      'with status 204 and a length of 0 may be followed by another',
      'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
      { persistent: true },
    ],
    [
      'with status 204 and another length is the last on its connection',
      'HTTP/1.1 204 x\r\nContent-Length: 1\r\n\r\n',
      { persistent: false },
    ],
    [
      'with status 304 has no body, whatever its length',
      'HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n',
      { content: '', persistent: true },
    ],
  ] as const)
    t.test(name, async (t) => t.match(read(response), { ...reading, ended: 1, refusal: undefined }));

  t.test('to HEAD has no body, whatever its fields', async (t) => {
    for (const fields of [['Content-Length: 9'], ['Transfer-Encoding: chunked'], []])
      t.match(read(head(...fields), 'HEAD'), { content: '', ended: 1, persistent: true, refusal: undefined });
  });

  t.test('with many blanks within a field is read in linear time', async (t) => {
    const { fields } = read(empty(`A: x${' '.repeat(60_000)}y\t`));
    t.equal(fields?.[1]?.[1].length, 60_002);
  });
});

t.test('the connection is given up for', async (t) => {
  for (const [name, response, refusal] of [
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 'no HTTP/1.x status line'],
    ['an empty line before the status', '\r\nHTTP/1.1 200 OK\r\n\r\n', 'no HTTP/1.x status line'],
    ['a bare LF after the status', 'HTTP/1.1 200 OK\nA: b\r\n\r\n', 'no HTTP/1.x status line'],
    ['a NUL in the reason phrase', 'HTTP/1.1 200 O\0K\r\n\r\n', 'no HTTP/1.x status line'],
    ['a bare LF in a value', head('A: b\nC: d'), 'a field with control characters or bare line ends'],
    ['a bare CR in a value', head('A: b\rC: d'), 'a field with control characters or bare line ends'],
    ['a folded field', head('A: b', ' c'), 'a field without a colon'],
    ['a folded field with a colon', head('A: b', ' c: d'), 'an invalid field name'],
    ['a blank before the colon', head('Content-Length : 1'), 'an invalid field name'],
    ['a name beyond ASCII', head('\xe9: x'), 'an invalid field name'],
    ['two equal lengths', head('Content-Length: 1', 'content-length: 1'), 'more than one Content-Length'],
    [
      'two transfer codings',
      head('Transfer-Encoding: chunked', 'TRANSFER-ENCODING: chunked'),
      'more than one Transfer-Encoding',
    ],
    [
      'a length and chunks',
      head('Content-Length: 1', 'Transfer-Encoding: chunked'),
      'both Content-Length and Transfer-Encoding',
    ],
    [
      'chunks in HTTP/1.0',
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      'a transfer coding other than chunked',
    ],
    [
      'another transfer coding',
      head('Transfer-Encoding: gzip, chunked'),
      'a transfer coding other than chunked',
    ],
    [
      'a switch to another protocol',
      'HTTP/1.1 101 x\r\n\r\n',
      'a switch to another protocol that was not requested',
    ],
    [
      'an interim response that closes the connection',
      `HTTP/1.1 103 x\r\nConnection: close\r\n\r\n${empty()}`,
      'an interim response that ends the connection',
    ],
    ...['', '+1', '1,1', '0x1', '9'.repeat(16)].map(
      (length) =>
        [`a length of "${length}"`, head(`Content-Length: ${length}`), 'an invalid Content-Length'] as const,
    ),
  ] as const)
    t.test(name, async (t) => {
      for (const method of ['GET', 'HEAD'])
        t.match(read(response, method), { ended: 0, status: undefined, refusal }, method);
    });

  for (const [name, content, refusal] of [
    ['without a size', '\r\na\r\n0\r\n\r\n', 'a chunk without a size'],
    ['with a signed size', '+1\r\na\r\n', 'a chunk without a size'],
    ['with a prefix before its size', '0x1\r\na\r\n', 'a chunk that does not end as its size says'],
    ['of an impossible size', '1000000000000\r\n', 'a chunk of an impossible size'],
    ['with a bare LF after its size', '1\na\r\n', 'a chunk that does not end as its size says'],
    ['with a bare LF after its extension', '1;a\na\r\n', 'an invalid chunk extension or trailer'],
    ['with an empty extension', '1; \r\na\r\n', 'an invalid chunk extension or trailer'],
    ['with endless extensions', `1;${'a'.repeat(20_000)}`, 'chunk extensions or trailers that are too long'],
    ['longer than its size', '1\r\nab\r\n', 'a chunk that does not end as its size says'],
    ['before a folded trailer', '0\r\nA: b\r\n c\r\n\r\n', 'an invalid chunk extension or trailer'],
    [
      'before a trailer with a NUL',
      '0\r\nA: \0\r\n\r\n',
      'a control character in a chunk extension or trailer',
    ],
    [
      'before endless trailers',
      `0\r\n${'A: b\r\n'.repeat(5_000)}`,
      'chunk extensions or trailers that are too long',
    ],
  ] as const)
    t.test(`a chunk ${name}`, async (t) =>
      t.match(read(head('Transfer-Encoding: chunked') + content), { ended: 0, status: 200, refusal }),
    );

  t.test('a head that is too long, in one piece or with interim responses', async (t) => {
    const refusal = 'a head that is too long';
    const interim = 'HTTP/1.1 103 x\r\n\r\n';
    const size = (length: number) => empty(`A: ${'x'.repeat(length - empty('A: ').length)}`);
    t.match(read(size(MAX_HEADER_BYTES)), { ended: 1, refusal: undefined });
    t.match(read(size(MAX_HEADER_BYTES + 1)), { status: undefined, refusal });
    t.match(read(size(MAX_HEADER_BYTES + 5).slice(0, -4)), { status: undefined, refusal }, 'incomplete');
    t.match(read(interim + size(MAX_HEADER_BYTES - 5)), { status: undefined, refusal });
    t.match(read(interim.repeat(5_000)), { status: undefined, refusal });
  });

  t.test('bytes after a response', async (t) => {
    for (const behind of [empty(), '\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'])
      t.match(read(empty() + behind), {
        ended: 1,
        content: '',
        refusal: 'bytes that belong to no request',
      });
  });
});
