/** The limits of a real Keystone, read with tokens of each scope. */
import t, { type Test } from 'tap';
import { readKeystoneLimits } from '../../src/identity/keystone/keystone-limits.ts';
import { bridgeWith, keystoneClient } from '../support/keystone/client.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';

const SYSTEM = { system: true } as const;
const KUBERNETES = { service: 'kubernetes' };

/** The administrator, who has the role admin on the system, on a project and on a domain. */
const clientOf = (t: Test, { url }: RealKeystone, scope: Parameters<typeof bridgeWith>[0]) =>
  keystoneClient(t, { url, credential: bridgeWith(scope, 'admin'), secret: 'admin-pass' });

/** A domain with two projects, and two services with limits. */
async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const shop = await keystone.make('projects', { name: 'shop', domain_id: acme });
  const service = await keystone.make('services', { name: 'kubernetes', type: 'container-orchestration' });
  const nova = await keystone.make('services', { name: 'nova', type: 'compute' });
  await keystone.call('POST', '/regions', { region: { id: 'east' } });
  const register = (
    service_id: string,
    resource_name: string,
    default_limit: number,
    region_id?: string,
  ) => ({
    ...{ service_id, resource_name, default_limit },
    ...(region_id !== undefined && { region_id }),
  });
  await keystone.call('POST', '/registered_limits', {
    registered_limits: [
      register(service, 'pods', 10),
      register(service, 'cores', 8),
      register(service, 'pods', 5, 'east'),
      register(nova, 'servers', 3),
    ],
  });
  const limit = (owner: object, resource_name: string, resource_limit: number) => ({
    ...owner,
    service_id: service,
    resource_name,
    resource_limit,
  });
  await keystone.call('POST', '/limits', {
    limits: [
      limit({ domain_id: acme }, 'pods', 20),
      limit({ project_id: web }, 'pods', 8),
      limit({ project_id: shop }, 'cores', 0),
    ],
  });
  return { acme, web, shop, service };
}

t.test('limits of a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { acme, web, shop, service } = await seed(keystone);

  await t.test('of one service are read, with those of every project and domain', async (t) => {
    const system = clientOf(t, keystone, SYSTEM);
    const limits = {
      model: 'flat',
      registered: new Map([
        ['pods', 10],
        ['cores', 8],
      ]),
      ofDomains: new Map([[acme, new Map([['pods', 20]])]]),
      ofProjects: new Map([
        [web, new Map([['pods', 8]])],
        [shop, new Map([['cores', 0]])],
      ]),
    };
    t.same(await readKeystoneLimits(system, KUBERNETES), limits, 'by the name of the service');
    t.same(await readKeystoneLimits(system, { service }), limits, 'by its id');
    t.same(await readKeystoneLimits(system, { ...KUBERNETES, region: 'east' }), {
      model: 'flat',
      registered: new Map([['pods', 5]]),
      ofDomains: new Map(),
      ofProjects: new Map(),
    });
  });

  await t.test('D231 are not read with a token that is shown only some of them', async (t) => {
    const admin = await keystone.role('admin');
    const { body } = await keystone.call('GET', '/users?name=admin&domain_id=default');
    const [{ id }] = JSON.parse(JSON.stringify(body.users));
    await keystone.call('PUT', `/domains/${acme}/users/${id}/roles/${admin}`);
    const ofProject = clientOf(t, keystone, { projectName: 'admin', projectDomainName: 'Default' });
    await t.rejects(readKeystoneLimits(ofProject, KUBERNETES), {
      code: 'KeystoneUnavailable',
      cause: /only to a token of the system, and Stonegate's is of a project/,
    });
    const ofDomain = clientOf(t, keystone, { domainName: 'acme' });
    await t.rejects(readKeystoneLimits(ofDomain, KUBERNETES), { cause: /is of a domain/ });

    const unscoped = await keystone.login(passwordOf('admin', 'Default', 'admin-pass'), 'unscoped');
    const { status, body: shown } = await keystone.call('GET', '/limits', undefined, {
      'X-Auth-Token': unscoped,
    });
    t.match(
      { status, limits: shown.limits },
      { status: 200, limits: [] },
      'Keystone does not refuse the request',
    );
  });

  await t.test('of a service that Keystone does not have are an error', async (t) => {
    const system = clientOf(t, keystone, SYSTEM);
    await t.rejects(readKeystoneLimits(system, { service: 'magnum' }), { cause: /no service "magnum"/ });
  });
});

t.test('D230 a real Keystone with the model strict_two_level', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t, 'unified_limit.enforcement_model=strict_two_level');
  await keystone.make('services', { name: 'kubernetes', type: 'container-orchestration' });
  t.match(await readKeystoneLimits(clientOf(t, keystone, SYSTEM), KUBERNETES), {
    model: 'strict_two_level',
    registered: new Map(),
  });
});
