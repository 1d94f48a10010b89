import { readFileSync } from 'node:fs';
import t from 'tap';
import { conformancePage, PAGE, readConformance } from '../../scripts/conformance.ts';

const conformance = readConformance();
const { cases, tested, doesNotApply, otherwise } = conformance;
const known = new Set(cases.map(({ id }) => id));

t.test('every case is tested or does not apply, and only one of them', async (t) => {
  for (const { id } of cases) {
    const places = [tested, doesNotApply].filter((place) => place.has(id)).length;
    t.equal(places, 1, id);
  }
});

t.test('no test and no reason names a case that does not exist', async (t) => {
  for (const id of [...tested.keys(), ...doesNotApply.keys()]) t.ok(known.has(id), id);
  for (const id of otherwise.keys()) t.ok(tested.has(id), `${id} is tested`);
});

t.test('the page says what is so: npm run conformance writes it', async (t) => {
  t.equal(readFileSync(PAGE, 'utf8'), conformancePage(conformance));
});
