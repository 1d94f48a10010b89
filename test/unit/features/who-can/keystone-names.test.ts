/** The names that who-can reads from Keystone, also while Keystone is down, slow or faulty. */
import t, { type Test } from 'tap';
import { createKeystoneNames } from '../../../../src/features/who-can/keystone-names.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { bridgeDirectory } from '../../../support/keystone/bridge-directory.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';

const UNAVAILABLE = { code: 'KeystoneUnavailable', http: 503 };

async function start(t: Test) {
  const keystone = await createKeystoneStandIn();
  t.teardown(() => keystone.close());
  const { directory } = keystone;
  const bridge = directory.user('Default', 'bridge');
  directory.assign(bridge, 'reader', { system: true });
  const web = directory.project('acme', 'web');
  for (const name of ['alice', 'bob'])
    directory.assign(directory.user('acme', name), 'member', { project: web });
  directory.assign(directory.user('globex', 'alice'), 'reader', { project: web });
  const clock = createFakeClock();
  const names = createKeystoneNames({ directory: bridgeDirectory(t, keystone.url), clock });
  const listings = () => keystone.calls.filter((call) => call === 'GET /v3/projects').length;
  return { keystone, directory, web, clock, names, listings };
}

t.test('projects and domains are read once a minute, for all reviews', async (t) => {
  const { directory, web, clock, names, listings } = await start(t);
  const [first] = await Promise.all([names.scopes(), names.scopes()]);
  t.same(first.projects.get(web.id), { name: 'web', domainID: web.domain.id });
  t.same(first.domains.get(web.domain.id), { name: 'acme', domainID: web.domain.id });
  t.equal(listings(), 1);
  const shop = directory.project('acme', 'shop');
  clock.advance(59_999);
  t.notOk((await names.scopes()).projects.has(shop.id));
  clock.advance(1);
  t.ok((await names.scopes()).projects.has(shop.id));
  t.equal(listings(), 2);
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('the people of a role are its enabled users, with their domains', async (t) => {
  const { directory, web, clock, names } = await start(t);
  const holders = async () =>
    (await names.holders('project', web.id)).map(({ user, role }) => `${user} ${role}`);
  t.same((await holders()).sort(), ['alice@acme member', 'alice@globex reader', 'bob@acme member']);
  directory.user('acme', 'bob').enabled = false;
  clock.advance(60_000);
  t.same((await holders()).sort(), ['alice@acme member', 'alice@globex reader']);
  t.same(
    await names.holders('project', 'ffffffffffffffffffffffffffffffff'),
    [],
    'a project that does not exist',
  );
  t.same(await names.holders('domain', web.domain.id), [], 'a domain on which no role is held');
});

for (const fault of ['reset', 'wrong-shape', 'front-end-404'] as const)
  t.test(
    `a Keystone with the fault ${fault} is unavailable, and is asked again by the next review`,
    async (t) => {
      const { keystone, web, names } = await start(t);
      keystone.fault = fault;
      await t.rejects(names.scopes(), UNAVAILABLE);
      await t.rejects(names.holders('project', web.id), UNAVAILABLE);
      keystone.fault = undefined;
      t.ok((await names.scopes()).projects.has(web.id));
      t.equal((await names.holders('project', web.id)).length, 3);
    },
  );

t.test(
  'a review waits for a slow Keystone for ten seconds; a later response serves the next review',
  async (t) => {
    const { keystone, web, clock, names, listings } = await start(t);
    keystone.fault = 'hang';
    const [scopes, holders] = [names.scopes(), names.holders('project', web.id)];
    const late = [t.rejects(scopes, UNAVAILABLE), t.rejects(holders, UNAVAILABLE)];
    await eventually(() => keystone.hanging > 0);
    clock.advance(10_000);
    await Promise.all(late);
    const again = names.scopes();
    keystone.release();
    t.ok((await again).projects.has(web.id));
    t.equal(listings(), 1);
  },
);
