/** The `openstack` commands of the documents, with the real client at a real Keystone. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { missingKeystone, passwordOf, startRealKeystone } from '../support/keystone/real-keystone.ts';
import { commandsRunBy, readersShell, runShell } from '../support/page-commands.ts';

const TEST = 'test/integration/openstack-commands.test.ts';
const hasClient = spawnSync('openstack', ['--version']).error === undefined;
const skip =
  missingKeystone() || (!hasClient && 'openstack is not installed: apt-get install python3-openstackclient');

t.test('at a real Keystone', { skip }, async (t) => {
  const keystone = await startRealKeystone(t);
  const folder = t.testdir({});
  const run = async (who: Readonly<Record<string, string>>, script: string) => {
    const shell = readersShell(folder);
    const env = {
      ...shell.env,
      OS_AUTH_URL: keystone.url,
      OS_IDENTITY_API_VERSION: '3',
      OS_USER_DOMAIN_NAME: 'Default',
      HOME: join(folder, 'home'),
      ...who,
    };
    const { output, code } = await runShell({ folder, env }, script);
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`);
    return output;
  };
  const admin = { OS_USERNAME: 'admin', OS_PASSWORD: 'admin-pass' };
  const inProject = { OS_PROJECT_NAME: 'admin', OS_PROJECT_DOMAIN_NAME: 'Default' };

  await t.test('the commands of docs/keystone.md grant roles on the system', async (t) => {
    const user = await keystone.make('users', { name: 'stonegate', domain_id: 'default', password: 'pass' });
    for (const role of ['reader', 'service']) await keystone.role(role);
    const [grant = ''] = commandsRunBy(TEST, 'docs/keystone.md');
    await run({ ...admin, OS_SYSTEM_SCOPE: 'all' }, grant);
    const { body } = await keystone.call('GET', `/system/users/${user}/roles`);
    t.match(body, { roles: [{ name: /^(?:reader|service)$/ }, { name: /^(?:reader|service)$/ }] });
    await keystone.login(passwordOf('stonegate', 'Default', 'pass'), { system: { all: true } });
  });

  await t.test('the command of docs/login.md creates an application credential', async (t) => {
    const [create = ''] = commandsRunBy(TEST, 'docs/login.md');
    const output = await run({ ...admin, ...inProject }, create);
    t.match(output, /^\| name +\| kubectl/m);
    t.match(output, /^\| secret +\| \S/m);
  });
});
