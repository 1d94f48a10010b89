import t from 'tap';
import { fieldOf, objectOf, textOf } from '../../../src/kubernetes/body-fields.ts';

const REFUSED = { code: 'BodyMalformed' };

t.test('a field that is absent or null is undefined, or empty as text', async (t) => {
  for (const object of [{}, { scope: null }]) {
    t.equal(fieldOf(object, 'scope'), undefined);
    t.equal(textOf(object, 'scope'), '');
  }
});

t.test('a field is read', async (t) => {
  t.equal(textOf({ scope: 'Tenant', other: 1 }, 'scope'), 'Tenant');
  t.strictSame(fieldOf({ roleRef: { name: 'x' } }, 'roleRef'), { name: 'x' });
});

t.test('a member that every object inherits is not a field', async (t) =>
  t.equal(fieldOf({}, 'constructor'), undefined),
);

// Go's encoding/json folds the long s and the Kelvin sign to ASCII letters.
for (const spelling of ['Scope', 'SCOPE', 'ſcope', 'scopE'])
  t.test(`a field that is spelled ${spelling} is refused, with or without the right one`, async (t) => {
    t.throws(() => fieldOf({ [spelling]: 'Cluster' }, 'scope'), REFUSED);
    t.throws(() => textOf({ scope: 'Tenant', [spelling]: 'Cluster' }, 'scope'), REFUSED);
  });

t.test('the Kelvin sign is a k', async (t) => t.throws(() => fieldOf({ '\u212Aind': 'x' }, 'kind'), REFUSED));

t.test('text that is not a string, and an object that is not an object, are refused', async (t) => {
  t.throws(() => textOf({ scope: ['Cluster'] }, 'scope'), REFUSED);
  for (const value of [undefined, null, 'x', []]) t.throws(() => objectOf(value, 'spec'), REFUSED);
  t.strictSame(objectOf({ a: 1 }, 'spec'), { a: 1 });
});
