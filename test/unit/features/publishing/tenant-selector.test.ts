import t from 'tap';
import { parseTenantSelector, selectsTenant } from '../../../../src/features/publishing/tenant-selector.ts';
import { eachRow, linesOf } from '../../../support/rows.ts';

const acme = { name: 'acme', labels: { region: 'eu', 'example.com/tier': 'gold' } };

function selects(value: string): boolean | undefined {
  const selector = parseTenantSelector(value);
  return selector && selectsTenant(selector, acme);
}

t.test('all, names and labels select tenants', async (t) => {
  await eachRow(
    `
    all                               | true
    acme                              | true
    globex,acme                       | true
    globex                            | false
    region=eu                         | true
    region=eu,example.com/tier=gold   | true
    region=eu,example.com/tier=silver | false`,
    (value, expected) => t.equal(String(selects(value)), expected, value),
  );
});

t.test('nothing that could be misread as every tenant is accepted', async (t) => {
  const others = ['', 'all ', 'all\n'];
  for (const value of [
    ...others,
    ...linesOf(`
      All
      *
      a*
      all,acme
      acme,
      acme,,globex
      acme, globex
      !region
      region==eu
      region=
      =eu
      region in (eu)
      region=eu,acme
      region=eu,region=us
      acme,acme
      ACME
      __proto__
      ａll`),
  ])
    t.equal(selects(value), undefined, JSON.stringify(value));
});

t.test('inherited properties are not labels', async (t) => {
  t.equal(selects('constructor=x'), false);
});

t.test('a very long list is refused', async (t) => {
  t.equal(selects(Array.from({ length: 101 }, (_, number) => `t${number}`).join(',')), undefined);
});
