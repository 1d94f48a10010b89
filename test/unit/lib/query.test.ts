import t from 'tap';
import { decodeQueryText, firstParameter, parameterName } from '../../../src/lib/query.ts';

t.test('plus and percent escapes are decoded', async (t) => {
  t.equal(decodeQueryText('a+b%3Dc%C3%A9'), 'a b=cé');
});

t.test('a broken escape, or bytes that are no UTF-8, decode to nothing', async (t) => {
  t.equal(decodeQueryText('%zz'), undefined);
  t.equal(decodeQueryText('%ff'), undefined);
});

t.test('the name of a pair ends at its first equals sign', async (t) => {
  t.equal(parameterName('a%3D=b=c'), 'a=');
  t.equal(parameterName('bare'), 'bare');
});

t.test('the first value counts', async (t) => {
  t.equal(firstParameter('x=1&%77atch=true&watch=false', 'watch'), 'true');
});

t.test('a bare name has the empty value', async (t) => {
  t.equal(firstParameter('watch', 'watch'), '');
});

t.test('what is not there is undefined', async (t) => {
  t.equal(firstParameter('', 'watch'), undefined);
  t.equal(firstParameter('watching=1', 'watch'), undefined);
});

t.test('pairs with a semicolon or a broken value do not exist, as for Go', async (t) => {
  t.equal(firstParameter('watch=1;x=2&watch=3', 'watch'), '3');
  t.equal(firstParameter('watch=%zz', 'watch'), undefined);
});
