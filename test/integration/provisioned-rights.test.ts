/**
 * A whole Stonegate that provisions for a real Keystone: each way in which a user gains or loses a role
 * changes what they may do through Stonegate, with a token of the project and with an unscoped one, and no
 * operator has to act.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { BRIDGE, makeBridge } from '../support/keystone/bridge.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { startStonegate } from '../support/stonegate.ts';

const RBAC = 'rbac.authorization.k8s.io';

async function roles(keystone: RealKeystone) {
  await makeBridge(keystone);
  const [member, lead, guest] = [
    await keystone.role('member'),
    await keystone.role('lead'),
    await keystone.role('guest'),
  ];
  await keystone.call('PUT', `/roles/${lead}/implies/${member}`);
  return { member, lead, guest };
}

interface Site {
  readonly keystone: RealKeystone;
  /** The domain. */
  readonly called: string;
  /** The role's id. */
  readonly member: string;
  readonly bindings: object;
}

/** A Stonegate for this Keystone, and a project in a domain of its own. */
async function setUp(t: Test, { keystone, called, member, bindings }: Site) {
  const stonegate = await startStonegate(t, { mode: 'shared' });
  await admitProvisioner(stonegate, { mode: 'shared' });
  await stonegate.configure({
    authentication: {
      keystone: {
        url: keystone.url,
        serviceCredential: BRIDGE,
        timeout: '30s',
        cacheTTL: '1s',
        negativeCacheTTL: '1s',
        roleAssignments: { cacheTTL: '1s' },
      },
    },
    bindings: { credential: { tokenFile: 'provisioner-token' }, ...bindings },
  });
  await stonegate.app.reload();
  const domain = await keystone.make('domains', { name: called });
  const web = await keystone.make('projects', { name: 'web', domain_id: domain });
  const user = (name: string) =>
    keystone.make('users', { name, domain_id: domain, password: `${name}-pass` });
  // A user who has a role elsewhere: the removal of all existing bindings would wait for an operator.
  const other = await keystone.make('projects', { name: 'other', domain_id: domain });
  await keystone.call('PUT', `/projects/${other}/users/${await user('keeper')}/roles/${member}`);
  const login = (name: string, scope: unknown) =>
    keystone.login(passwordOf(name, called, `${name}-pass`), scope);
  const inWeb = () =>
    stonegate.apiServer.cluster.store
      .list({ group: RBAC, resource: 'rolebindings', tenant: '' })
      .filter(({ location: { name, namespace } }) => namespace === web && /^stonegate-/.test(name));
  const secrets = `/api/v1/namespaces/${web}/secrets`;
  const becomes = async (t: Test, token: string, status: number, why: string) => {
    await eventually(async () => (await stonegate.ask(token, secrets)).status === status);
    t.pass(why);
  };
  return { ...stonegate, domain, web, user, login, inWeb, becomes, secrets };
}

t.test('rights of a real Keystone', { skip: missingKeystone() }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { call, make } = keystone;
  const { member, lead, guest } = await roles(keystone);

  for (const subjects of ['groups', 'users'] as const)
    await t.test(`every change of roles takes effect, bound as ${subjects}`, async (t) => {
      const called = `acme-${subjects}`;
      const bindings = { provision: 'periodic', interval: '200ms', subjects, maxDeletedShare: 1 };
      const site = await setUp(t, { keystone, called, member, bindings });
      const { domain, web, user, login, inWeb } = site;
      const alice = await user('alice');
      // A role that gives no rights, so that alice can get a token that stays valid.
      await call('PUT', `/projects/${web}/users/${alice}/roles/${guest}`);
      const tokens = [
        await login('alice', { project: { id: web } }),
        await login('alice', 'unscoped'),
      ] as const;
      const [scoped, unscoped] = tokens;
      const both = async (status: number, why: string) => {
        await site.becomes(t, scoped, status, `${why}, with a token of the project`);
        await site.becomes(t, unscoped, status, `${why}, with an unscoped one`);
      };
      await both(403, 'at first');

      const onWeb = `/projects/${web}/users/${alice}/roles`;
      await call('PUT', `${onWeb}/${member}`);
      await both(200, 'assigned');
      await call('DELETE', `${onWeb}/${member}`);
      await both(403, 'taken away');

      const group = await make('groups', { name: `developers-${subjects}`, domain_id: domain });
      await call('PUT', `/projects/${web}/groups/${group}/roles/${member}`);
      await call('PUT', `/groups/${group}/users/${alice}`);
      await both(200, 'through a group');
      await call('DELETE', `/projects/${web}/groups/${group}/roles/${member}`);
      await both(403, 'the group has lost the role');

      const inherited = `/OS-INHERIT/domains/${domain}/users/${alice}/roles/${member}/inherited_to_projects`;
      await call('PUT', inherited);
      await both(200, 'inherited from the domain');
      await call('DELETE', inherited);
      await both(403, 'no longer inherited');

      await call('PUT', `${onWeb}/${lead}`);
      await both(200, 'implied by another role');

      const bound = inWeb().length;
      t.ok(bound > 0);
      await call('PATCH', `/projects/${web}`, { project: { enabled: false } });
      await site.becomes(t, scoped, 401, 'the project is disabled, and its tokens are invalid');
      await eventually(() => inWeb().length === 0);
      t.pass('no user is bound in its namespace');
      await site.becomes(t, unscoped, 403, 'an unscoped token gives no rights in it');
      await call('PATCH', `/projects/${web}`, { project: { enabled: true } });
      await eventually(() => inWeb().length === bound);

      const again = await login('alice', { project: { id: web } });
      await site.becomes(t, again, 200, 'the project is enabled again');
      await call('DELETE', `/users/${alice}`);
      await site.becomes(t, again, 401, 'the user is deleted');
      if (subjects === 'users') await eventually(() => inWeb().length === 0);
      t.notMatch(JSON.stringify(inWeb().map(({ object }) => object.subjects)), /alice/);
    });

  await t.test('bound as users, each user finds their bindings on their first request', async (t) => {
    const site = await setUp(t, {
      keystone,
      called: 'hooli',
      member,
      bindings: { provision: 'onRequest', subjects: 'users' },
    });
    const { web, user, login, inWeb } = site;
    const [erin, frank] = [await user('erin'), await user('frank')];
    for (const each of [erin, frank]) await call('PUT', `/projects/${web}/users/${each}/roles/${member}`);
    t.equal((await site.ask(await login('erin', { project: { id: web } }), site.secrets)).status, 200);
    const before = inWeb().length;
    await call('DELETE', `/users/${frank}`);
    await call('PUT', `/projects/${web}/users/${erin}/roles/${lead}`);
    const again = await login('erin', { project: { id: web } });
    t.equal((await site.ask(again, site.secrets)).status, 200);
    t.ok(inWeb().length < before, 'the bindings of a deleted user are removed');
  });
});
