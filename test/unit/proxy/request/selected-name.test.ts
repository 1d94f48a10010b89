import t from 'tap';
import { selectedName } from '../../../../src/proxy/request/request-info.ts';

t.test('the name may be one of several terms', async (t) =>
  t.equal(selectedName('spec.nodeName!=n1,,metadata.name=p1'), 'p1'),
);

t.test('a selector that only excludes a name selects no name', async (t) =>
  t.equal(selectedName('metadata.name!=cm1'), undefined),
);

t.test('escapes are removed from the value', async (t) =>
  t.equal(selectedName('metadata.name=a\\,b\\=c\\\\'), 'a,b=c\\'),
);

for (const selector of [
  'metadata.name',
  'metadata.name=a=b',
  'metadata.name=a\\x',
  'x\\',
  'metadata.name=a,x',
])
  t.test(`the malformed selector ${selector} selects no name`, async (t) =>
    t.equal(selectedName(selector), undefined),
  );

for (const name of ['', '.', '..', 'a/b', 'a%b'])
  t.test(`${JSON.stringify(name)} cannot be a path segment and is not selected`, async (t) =>
    t.equal(selectedName(`metadata.name=${name}`), undefined),
  );

t.test('of several names, the first in byte order counts, among any number of terms', async (t) => {
  const terms = [
    'metadata.name=b',
    'metadata.name==a',
    'metadata.name!=0',
    ...Array.from('x'.repeat(1_000), (x) => `${x}=1`),
  ];
  // `=` sorts before every letter.
  t.equal(selectedName(terms.join(',')), 'a');
  t.equal(selectedName(terms.toReversed().join(',')), 'a');
  t.equal(selectedName('metadata.name=\u{1f600},metadata.name=\uffee'), '\uffee');
});
