/**
 * An access token follows its owner at a real Keystone: disabled, renamed, in a disabled domain, deleted, and
 * created again with the same name.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { startTokenStandIn } from '../support/token-standin.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const SELF = '/apis/stonegate.dev/v1alpha1/selfidentity';

async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const bridge = await keystone.make('users', {
    name: 'bridge',
    domain_id: 'default',
    password: 'bridge-pass',
  });
  for (const name of ['reader', 'service'])
    await keystone.call('PUT', `/system/users/${bridge}/roles/${await keystone.role(name)}`);
  const user = () => keystone.make('users', { name: 'alice', domain_id: acme, password: 'alice-pass' });
  return { acme, user };
}

t.test(
  'D421 D422 an access token follows its owner at a real Keystone',
  { skip: missingKeystone() },
  async (t) => {
    const keystone = await startRealKeystone(t);
    const { acme, user } = await seed(keystone);
    const alice = await user();
    const site = await startTokenStandIn(t, {
      keystone: { url: keystone.url, caFile: undefined, roleAssignments: { cacheTTL: '1s' } },
    });
    const login = () => keystone.login(passwordOf('alice', 'acme', 'alice-pass'), 'unscoped');
    const { secret } = await site.make(await login(), 'read');
    const becomes = async (t: Test, status: number) => {
      await eventually(async () => (await site.ask(secret, CONFIGMAPS)).status === status);
      t.pass(`becomes ${status}`);
    };
    const change = (kind: string, id: string, fields: object) =>
      keystone.call('PATCH', `/${kind}s/${id}`, { [kind]: fields });
    await becomes(t, 200);
    for (const [kind, id] of [
      ['user', alice],
      ['domain', acme],
    ] as const) {
      await change(kind, id, { enabled: false });
      await becomes(t, 401);
      await change(kind, id, { enabled: true });
      await becomes(t, 200);
    }
    await change('user', alice, { name: 'alicia' });
    await eventually(async () => (await site.ask(secret, SELF)).body.includes('acme:alicia'));
    await becomes(t, 403);
    await change('user', alice, { name: 'alice' });
    await becomes(t, 200);
    await keystone.call('DELETE', `/users/${alice}`);
    await becomes(t, 401);
    await user();
    t.match(await site.ask(await login(), CONFIGMAPS), { status: 200 });
    t.match(await site.ask(secret, CONFIGMAPS), { status: 401 }, 'a new user of the same name cannot use it');
    t.same(await site.list(await login()), []);
  },
);
