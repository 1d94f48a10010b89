/** Merging the lists of single namespaces. */
import t from 'tap';
import { isBelow, mergeParts, readListPart } from '../../../../src/features/all-namespaces/list-part.ts';

const part = (text: string) => readListPart(Buffer.from(text));

t.test('the objects keep their bytes: numbers beyond 2^53, escapes, the order of members', async (t) => {
  const first = part(
    '{"kind":"PodList","apiVersion":"v1","metadata":{"selfLink":"/x","resourceVersion":"5","remainingItemCount":7},"items":[{"hashKey":7484033614857419512,"n":1.0}]}\n',
  );
  const second = part(
    '{ "kind": "PodList",\n "apiVersion": "v1", "metadata": {"resourceVersion": "6"}, "items": [ {"b":"\\u00e9"}, {"a":1} ] }',
  );
  const merged = String(mergeParts([first, second], { resourceVersion: '5' }));
  t.equal(
    merged,
    '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"hashKey":7484033614857419512,"n":1.0},{"b":"\\u00e9"}, {"a":1}]}\n',
  );
});

t.test('rows of Tables are merged under the first one’s columns', async (t) => {
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

t.test('an empty list may be null', async (t) => {
  const empty = part('{"items":null,"metadata":{"continue":"","resourceVersion":"5"}}');
  t.match(empty, { count: 0, more: undefined, revision: '5' });
  t.equal(
    String(mergeParts([empty, empty], { resourceVersion: '5' })),
    '{"items":[],"metadata":{"resourceVersion":"5"}}\n',
  );
});

t.test('what is no list is refused', async (t) => {
  for (const text of [
    '',
    'no JSON',
    '[]',
    '{}',
    '{"kind":"Status","metadata":{}}',
    '{"items":[],"metadata":{}}',
    '{"items":[],"metadata":{"resourceVersion":"x"}}',
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
