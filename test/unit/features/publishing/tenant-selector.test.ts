import t from 'tap';
import { parseTenantSelector, selectsTenant } from '../../../../src/features/publishing/tenant-selector.ts';

const acme = { name: 'acme', labels: { region: 'eu', 'example.com/tier': 'gold' } };

function selects(value: string, tenant = acme): boolean | undefined {
  const selector = parseTenantSelector(value);
  return selector && selectsTenant(selector, tenant);
}

t.test('all, names and labels select tenants', async (t) => {
  t.equal(selects('all'), true);
  t.equal(selects('acme'), true);
  t.equal(selects('globex,acme'), true);
  t.equal(selects('globex'), false);
  t.equal(selects('region=eu'), true);
  t.equal(selects('region=eu,example.com/tier=gold'), true);
  t.equal(selects('region=eu,example.com/tier=silver'), false, 'all labels must hold');
});

t.test('nothing that could be misread as every tenant is accepted', async (t) => {
  for (const value of [
    '',
    'All',
    'all ',
    'all\n',
    '*',
    'a*',
    'all,acme',
    'acme,',
    'acme,,globex',
    'acme, globex',
    '!region',
    'region==eu',
    'region=',
    '=eu',
    'region in (eu)',
    'region=eu,acme',
    'region=eu,region=us',
    'acme,acme',
    'ACME',
    '__proto__',
    'ａll',
  ])
    t.equal(selects(value), undefined, JSON.stringify(value));
});

t.test('inherited properties are not labels', async (t) => {
  t.equal(
    selects('constructor=x', { name: 'acme', labels: { region: 'eu', 'example.com/tier': 'x' } }),
    false,
  );
});

t.test('a very long list is refused', async (t) => {
  t.equal(selects(Array.from({ length: 101 }, (_, number) => `t${number}`).join(',')), undefined);
});
