import t from 'tap';
import { decodeQueryText, firstParameter, parameterName } from '../../../src/lib/query.ts';

t.test('names and values are decoded as Go decodes them', async (t) => {
  const decoded = { 'a+b%3Dc%C3%A9': 'a b=cé', '%zz': undefined, '%ff': undefined };
  for (const [text, value] of Object.entries(decoded)) t.equal(decodeQueryText(text), value, text);
  t.equal(parameterName('a%3D=b=c'), 'a=');
});

t.test('the first value counts; pairs with a semicolon or a malformed value are ignored', async (t) => {
  const values = {
    'x=1&%77atch=true&watch=false': 'true',
    watch: '',
    '': undefined,
    'watching=1': undefined,
    'watch=1;x=2&watch=3': '3',
    'watch=%zz': undefined,
  };
  for (const [query, value] of Object.entries(values)) t.equal(firstParameter(query, 'watch'), value, query);
});
