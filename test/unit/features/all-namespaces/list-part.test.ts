/** Merging the lists of single namespaces. */
import t from 'tap';
import { isBelow, mergeParts, readListPart } from '../../../../src/features/all-namespaces/list-part.ts';
import { linesOf } from '../../../support/rows.ts';

const part = (text: string) => readListPart(Buffer.from(text));

t.test('rows of Tables are merged under the columns of the first Table', async (t) => {
  const table = (metadata: string, rows: string) =>
    `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":[{"name":"Name"}],"rows":${rows}}`;
  const one = (rows: string) => part(table('{"resourceVersion":"5"}', rows));
  const metadata = { resourceVersion: '5', continue: 'x' };
  const merged = mergeParts([one('[{"cells":["a"]}]'), one('[]'), one('[{"cells":["b"]}]')], metadata);
  const expected = table(JSON.stringify(metadata), '[{"cells":["a"]},{"cells":["b"]}]');
  t.same(JSON.parse(String(merged)), JSON.parse(expected));
});

t.test('a response that is not a list is refused', async (t) => {
  for (const text of [
    '',
    ...linesOf(`
      {}
      {"kind":"Status","metadata":{}}
      {"items":[],"metadata":{}}
      {"items":[],"metadata":{"resourceVersion":5}}
      {"items":{},"metadata":{"resourceVersion":"5"}}
      {"items":[{"metadata":{"resourceVersion":"5"}}`),
  ])
    t.throws(() => part(text), { name: 'MalformedJSON' }, text);
  const table = part('{"metadata":{"resourceVersion":"5"},"rows":[]}');
  const list = part('{"metadata":{"resourceVersion":"5"},"items":[]}');
  t.throws(() => mergeParts([table, list], { resourceVersion: '5' }), { name: 'MalformedJSON' });
});

t.test('revisions are compared as numbers of any length', async (t) => {
  t.ok(isBelow('9', '10'));
  t.notOk(isBelow('10', '9'));
  t.notOk(isBelow('10', '10'));
  t.ok(isBelow('9223372036854775806', '9223372036854775807'));
});
