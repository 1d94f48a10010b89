import { readFileSync } from 'node:fs';
import t from 'tap';
import { conformancePage, PAGE, readConformance } from '../../scripts/conformance.ts';

const conformance = readConformance();
const { cases, tested, doesNotApply, otherwise } = conformance;
const known = new Set(cases.map(({ id }) => id));

t.test('every case is either tested or does not apply', async (t) => {
  for (const { id } of cases) {
    const places = [tested, doesNotApply].filter((place) => place.has(id)).length;
    t.equal(places, 1, id);
  }
});

t.test('tests and exceptions name only existing cases', async (t) => {
  for (const id of [...tested.keys(), ...doesNotApply.keys()]) t.ok(known.has(id), id);
  for (const id of otherwise.keys()) t.ok(tested.has(id), `${id} is tested`);
});

t.test('the page is up to date (npm run conformance)', async (t) => {
  t.equal(readFileSync(PAGE, 'utf8'), conformancePage(conformance));
});
