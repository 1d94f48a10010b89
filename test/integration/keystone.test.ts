/**
 * The Keystone client against a real Keystone.
 */
import t, { type Test } from 'tap';
import { systemClock } from '../../src/lib/clock.ts';
import { bridgeWith, keystoneClient, SERVICE_PROJECT } from '../support/keystone/client.ts';
import {
  idOf,
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';

const unavailable = { code: 'KeystoneUnavailable', http: 503 };
const WEB = { project: { name: 'web', domain: { name: 'acme' } } };
const ALICE = passwordOf('alice', 'acme', 'alice-pass');
const BOB = passwordOf('bob', 'acme', 'bob-pass');
/** What the tests need: alice and bob of acme, a project, and a service user. */
async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const service = await keystone.make('projects', { name: 'service', domain_id: 'default' });
  const user = (name: string, domain: string) =>
    keystone.make('users', { name, domain_id: domain, password: `${name}-pass` });
  const [alice, bob, bridge] = [
    await user('alice', acme),
    await user('bob', acme),
    await user('bridge', 'default'),
  ];
  const roles = {
    member: await keystone.role('member'),
    reader: await keystone.role('reader'),
    service: await keystone.role('service'),
  };
  const grant = (place: string, who: string, what: string) =>
    keystone.call('PUT', `${place}/users/${who}/roles/${what}`);
  const withdraw = (place: string, who: string, what: string) =>
    keystone.call('DELETE', `${place}/users/${who}/roles/${what}`);
  await grant(`/projects/${web}`, alice, roles.member);
  await grant(`/projects/${web}`, bob, roles.reader);
  await grant(`/domains/${acme}`, alice, roles.reader);
  await grant('/system', alice, roles.reader);
  await grant(`/projects/${service}`, bridge, roles.service);
  return { acme, web, service, alice, bob, bridge, roles, grant, withdraw };
}

t.test('a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { acme, web, service, alice, bob, bridge, roles, grant, withdraw } = await seed(keystone);
  const { url } = keystone;
  const asService = keystoneClient(t, { url, credential: bridgeWith(SERVICE_PROJECT) });
  const byItself = keystoneClient(t, { url });
  const both = Object.entries({ asService, byItself });

  async function seenByBoth(t: Test, token: string) {
    const seen = await Promise.all(both.map(([, client]) => client.validate(token)));
    t.strictSame(seen[0], seen[1], 'validation by a service and by the token itself gives the same');
    return seen[0];
  }

  await t.test('it responds to the probe and accepts the service login', async (t) => {
    await t.resolves(asService.probe());
    await t.resolves(byItself.probe());
  });

  await t.test('tokens of each scope are validated', async (t) => {
    t.match(await seenByBoth(t, await keystone.login(ALICE, WEB)), {
      user: { id: alice, name: 'alice', domain: { id: acme, name: 'acme' } },
      scope: { kind: 'project', project: { id: web, name: 'web', domain: { id: acme } } },
      roles: [{ name: String }, { name: String }],
      methods: ['password'],
    });
    t.match(await seenByBoth(t, await keystone.login(ALICE, { domain: { name: 'acme' } })), {
      scope: { kind: 'domain', domain: { id: acme, name: 'acme' } },
      roles: [{ name: 'reader' }],
    });
    t.match(await seenByBoth(t, await keystone.login(ALICE, { system: { all: true } })), {
      scope: { kind: 'system' },
    });
    t.match(await seenByBoth(t, await keystone.login(ALICE, 'unscoped')), {
      scope: { kind: 'unscoped' },
      roles: [],
    });
    t.equal(await seenByBoth(t, 'gAAAAABnobodys-token'), undefined);
  });

  await t.test(
    'a token that Keystone still accepts is refused if it has expired by Stonegate’s clock',
    async (t) => {
      const token = await keystone.login(ALICE, WEB);
      const later = { ...systemClock, now: () => Date.now() + 2 * 3_600_000 };
      const client = keystoneClient(t, { url, clock: later });
      t.equal(await client.validate(token), undefined);
    },
  );

  await t.test('a role that was removed is gone at once', async (t) => {
    const token = await keystone.login(BOB, WEB);
    await grant(`/projects/${web}`, bob, roles.member);
    t.equal((await asService.validate(token))?.roles.length, 2);
    await withdraw(`/projects/${web}`, bob, roles.member);
    t.equal((await asService.validate(token))?.roles.length, 1);
  });

  await t.test('an application credential is a delegation and has only its own roles', async (t) => {
    const own = await keystone.login(ALICE, WEB);
    const create = async (fields: object) => {
      const path = `/users/${alice}/application_credentials`;
      const { body } = await keystone.call(
        'POST',
        path,
        { application_credential: fields },
        { 'X-Auth-Token': own },
      );
      return idOf(body.application_credential);
    };
    const login = (id: string) =>
      keystone.login({
        methods: ['application_credential'],
        application_credential: { id, secret: 'ci-pass' },
      });
    const id = await create({ name: 'ci', secret: 'ci-pass', roles: [{ id: roles.reader }] });
    t.match(await seenByBoth(t, await login(id)), {
      delegation: { kind: 'application-credential', id },
      roles: [{ name: 'reader' }],
    });
    const rules = [{ path: '/v2.1/servers', method: 'GET', service: 'compute' }];
    const limited = await create({ name: 'limited', secret: 'ci-pass', access_rules: rules });
    t.equal(await seenByBoth(t, await login(limited)), undefined, 'one with access rules is refused');
  });

  await t.test('a trust is a delegation, with and without impersonation', async (t) => {
    for (const impersonation of [false, true]) {
      const fields = {
        trustor_user_id: alice,
        trustee_user_id: bob,
        project_id: web,
        impersonation,
        roles: [{ id: roles.reader }],
      };
      const own = { 'X-Auth-Token': await keystone.login(ALICE, WEB) };
      const { body } = await keystone.call('POST', '/OS-TRUST/trusts', { trust: fields }, own);
      const id = idOf(body.trust);
      const token = await keystone.login(
        { methods: ['token'], token: { id: await keystone.login(BOB, 'unscoped') } },
        { 'OS-TRUST:trust': { id } },
      );
      t.match(await asService.validate(token), {
        user: { name: impersonation ? 'alice' : 'bob' },
        delegation: { kind: 'trust', id, trusteeUserID: bob, impersonation },
        roles: [{ name: 'reader' }],
      });
    }
  });

  await t.test(
    'if the service user loses its role, validations fail with a 503 until it has the role again',
    async (t) => {
      const token = await keystone.login(ALICE, WEB);
      await grant(`/projects/${service}`, bridge, roles.reader);
      await withdraw(`/projects/${service}`, bridge, roles.service);
      await t.rejects(asService.validate(token), unavailable);
      await grant(`/projects/${service}`, bridge, roles.service);
      t.match(await asService.validate(token), { user: { name: 'alice' } });
    },
  );

  await t.test('the service user logs in again after its tokens were revoked', async (t) => {
    const token = await keystone.login(ALICE, WEB);
    await keystone.call('PATCH', `/users/${bridge}`, { user: { password: 'bridge-pass' } });
    // Keystone stores revocations by the second, so that a token issued within that second is revoked too.
    let seen: unknown;
    while (seen === undefined)
      seen = await asService.validate(token).catch((error: unknown) => {
        t.match(error, unavailable);
        return undefined;
      });
    t.match(seen, { user: { name: 'alice' } });
  });

  await t.test(
    'while the service project is disabled, validations fail with a 503, and no user is logged out',
    async (t) => {
      const token = await keystone.login(ALICE, WEB);
      await keystone.call('PATCH', `/projects/${service}`, { project: { enabled: false } });
      await t.rejects(asService.validate(token), unavailable);
      await t.rejects(
        asService.validate('gAAAAABnobodys-token'),
        unavailable,
        'not even an invalid token is called invalid',
      );
      await keystone.call('PATCH', `/projects/${service}`, { project: { enabled: true } });
    },
  );
});
