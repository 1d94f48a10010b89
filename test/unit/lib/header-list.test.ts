import t from 'tap';
import { fromRawHeaders, headerTokens, headerValue, headerValues } from '../../../src/lib/header-list.ts';

t.test('headers keep their order, spelling and repetitions, without pseudo-headers', async (t) => {
  const list = fromRawHeaders([':path', '/', 'A', '1', 'a', '2', 'Connection', 'Close, X-Y']);
  t.same(list, [
    ['A', '1'],
    ['a', '2'],
    ['Connection', 'Close, X-Y'],
  ]);
  t.same(headerValues(list, 'a'), ['1', '2']);
  t.equal(headerValue(list, 'a'), '1');
  t.equal(headerValue(list, 'b'), undefined);
  t.same(headerTokens(list, 'connection'), ['close', 'x-y']);
});
