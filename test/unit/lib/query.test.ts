import t from 'tap';
import { decodeQueryText, firstParameter, parameterName } from '../../../src/lib/query.ts';

t.test('names and values are decoded as Go decodes them', async (t) => {
  for (const [text, decoded] of [
    ['a+b%3Dc%C3%A9', 'a b=cé'],
    ['%zz', undefined],
    ['%ff', undefined],
  ] as const)
    t.equal(decodeQueryText(text), decoded, text);
  t.equal(parameterName('a%3D=b=c'), 'a=');
});

t.test('the first value counts; pairs with a semicolon or a malformed value are ignored', async (t) => {
  for (const [query, value] of [
    ['x=1&%77atch=true&watch=false', 'true'],
    ['watch', ''],
    ['', undefined],
    ['watching=1', undefined],
    ['watch=1;x=2&watch=3', '3'],
    ['watch=%zz', undefined],
  ] as const)
    t.equal(firstParameter(query, 'watch'), value, query);
});
