/**
 * Whitespace around the value of a header field makes no difference between HTTP/2 and HTTP/1.1. An
 * impersonation header field is read or refused, never overlooked: otherwise the request would be executed as
 * the caller.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import type { HeaderField, HeaderList } from '../../src/lib/header-list.ts';
import {
  type ImpersonationRequest,
  impersonationRequest,
} from '../../src/proxy/impersonation/impersonation-request.ts';
import { echoTarget, listenFor } from '../support/server/listening.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  GET_ROOT,
  HELLO,
  literalField,
} from '../support/server/raw-http2.ts';

const blanks = fc.stringMatching(/^[ \t]{0,3}$/);
const word = fc.oneof(
  fc.constantFrom('', 'reader', 'the reader', 'a\tb', '\xa0', 'zo\xc3\xab'),
  fc.stringMatching(/^[\x21-\x7e\x80-\xff]{0,12}$/),
);
const value = fc.tuple(blanks, word, blanks).map((parts) => parts.join(''));
const IMPERSONATION = ['impersonate-user', 'impersonate-group', 'impersonate-extra-scopes'];
const impersonation = fc.oneof(fc.constant('impersonate-user'), fc.constantFrom(...IMPERSONATION));
const other = fc.constantFrom('user-agent', 'authorization', 'x-one');
const field = (name: fc.Arbitrary<string>): fc.Arbitrary<HeaderField> => fc.tuple(name, value);

function wishOf(headers: HeaderList): ImpersonationRequest | 'refused' | undefined {
  try {
    return impersonationRequest(headers);
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return 'refused';
  }
}

t.test('whitespace around a value makes no difference and hides no impersonation header field', async (t) => {
  let arrived = (_headers: HeaderList): void => undefined;
  const listening = await listenFor(t, (exchange) => {
    arrived(exchange.headers);
    return echoTarget(exchange);
  });
  const one = await listening.socket();
  const two = await listening.socket({ ALPNProtocols: ['h2'] });
  for (const socket of [one, two]) socket.resume();
  two.write(HELLO);
  let stream = -1;
  const send = (bytes: () => void): Promise<HeaderList> =>
    new Promise((resolve) => {
      arrived = resolve;
      bytes();
    });
  const over1 = (fields: HeaderList) =>
    send(() => {
      const lines = fields.map(([name, text]) => `${name}:${text}\r\n`).join('');
      one.write(Buffer.from(`GET / HTTP/1.1\r\nhost: x\r\n${lines}\r\n`, 'latin1'));
    });
  const over2 = (fields: HeaderList) =>
    send(() => {
      stream += 2;
      const block = Buffer.concat([GET_ROOT, ...fields.map(([name, text]) => literalField(name, text))]);
      two.write(frame(FRAME.headers, END_HEADERS | END_STREAM, stream, block));
    });
  let read = 0;
  const property = fc.asyncProperty(
    fc.array(field(other), { maxLength: 2 }),
    field(impersonation),
    fc.array(field(impersonation), { maxLength: 2 }),
    async (before, first, more) => {
      const fields = [...before, first, ...more];
      const [, ...by1] = await over1(fields);
      const by2 = await over2(fields);
      assert.deepEqual(by2, by1);
      const wished = wishOf(by2);
      assert.notEqual(wished, undefined);
      if (wished !== 'refused') read += 1;
    },
  );
  await t.resolves(fc.assert(property, { numRuns: 1_000 }));
  t.ok(read > 20, `enough impersonation header fields (${read}) are read`);
  for (const socket of [one, two]) socket.destroy();
});
