/** Merging the lists of single namespaces. */
import t from 'tap';
import { isBelow, mergeParts, readListPart } from '../../../../src/features/all-namespaces/list-part.ts';

const part = (text: string) => readListPart(Buffer.from(text));

t.test('rows of Tables are merged under the columns of the first Table', async (t) => {
  const table = (rows: string) =>
    part(
      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"columnDefinitions":[{"name":"Name"}],"rows":${rows}}`,
    );
  const merged = JSON.parse(
    String(
      mergeParts([table('[{"cells":["a"]}]'), table('[]'), table('[{"cells":["b"]}]')], {
        resourceVersion: '5',
        continue: 'x',
      }),
    ),
  );
  t.same(merged, {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '5', continue: 'x' },
    columnDefinitions: [{ name: 'Name' }],
    rows: [{ cells: ['a'] }, { cells: ['b'] }],
  });
});

t.test('a response that is not a list is refused', async (t) => {
  for (const text of [
    '',
    '{}',
    '{"kind":"Status","metadata":{}}',
    '{"items":[],"metadata":{}}',
    '{"items":[],"metadata":{"resourceVersion":5}}',
    '{"items":{},"metadata":{"resourceVersion":"5"}}',
    '{"items":[{"metadata":{"resourceVersion":"5"}}',
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
