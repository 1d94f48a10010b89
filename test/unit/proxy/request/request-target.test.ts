import t from 'tap';
import { assertProxyTail, decodeSegment, splitTarget } from '../../../../src/proxy/request/request-target.ts';

const malformed = { code: 'RequestMalformed' };

t.test('a target is split at its first question mark', async (t) => {
  t.strictSame(splitTarget('/a?b=c?d'), { path: '/a', query: 'b=c?d' });
  t.strictSame(splitTarget('/a'), { path: '/a', query: '' });
});

for (const target of ['http://host/api', '*', ''])
  t.test(`C204 the target ${JSON.stringify(target)} is refused, since it is not a path`, async (t) =>
    t.throws(() => splitTarget(target), malformed),
  );

for (const target of ['/a b', '/a\u007f', '/é', '/a#b', '/a?b#c'])
  t.test(`the target ${JSON.stringify(target)} is refused, since no client sends this byte`, async (t) =>
    t.throws(() => splitTarget(target), malformed),
  );

for (const segment of ['', '.', '..', 'a\\b', '%4', '%zz', '%ff', '%C2%85', '%00'])
  t.test(`the segment ${JSON.stringify(segment)} is refused`, async (t) =>
    t.throws(() => decodeSegment(segment), malformed),
  );

for (const segment of ['%74enants', '%2F', '%5c', '%25', '%2e%2E', 'a%2Db', '%7Eroot', '%31'])
  t.test(`the escape in ${segment} is refused, since two parsers could read it differently`, async (t) =>
    t.throws(() => decodeSegment(segment), malformed),
  );

t.test('escapes that data needs are decoded', async (t) => {
  t.equal(decodeSegment('system%3Adiscovery'), 'system:discovery');
  t.equal(decodeSegment('caf%C3%A9%20%3F%23'), 'café ?#');
});

t.test(
  'the tail of a proxy path may have escaped slashes, backslashes, spaces and any other byte',
  async (t) => {
    for (const segment of ['', 'b%2Fc', 'a%5Cb', '%20', '%ff', '%25', 'a..b', '%74', '\\'])
      t.doesNotThrow(() => assertProxyTail(segment), segment);
  },
);

for (const segment of ['.', '..', '%2e', '.%2E', '%2e%2e', '..%2Fx', 'x%2f%2e%2e', '..%5c', 'a\\..'])
  t.test(`the dot segment in ${segment} is refused in the tail of a proxy path`, async (t) =>
    t.throws(() => assertProxyTail(segment), malformed),
  );

t.test('a malformed escape is refused in the tail of a proxy path too', async (t) =>
  t.throws(() => assertProxyTail('%2'), malformed),
);
