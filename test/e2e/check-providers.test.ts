/**
 * What `stonegate check` reports about Keystone, issuers, Redis and the provisioner's rights at the API
 * server.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { check } from '../../src/app/commands/check.ts';
import { freePort } from '../support/free-port.ts';
import { admitBridge, BRIDGE } from '../support/keystone/bridge.ts';
import { missingKeystone, startRealKeystone } from '../support/keystone/real-keystone.ts';
import { startScriptedProvider } from '../support/oidc/scripted-provider.ts';
import { printedBy } from '../support/printed-io.ts';
import { admitProvisioner } from '../support/provisioner.ts';
import { createRedisServer, redisMissing } from '../support/redis/redis-server.ts';
import { startTestbed, type Testbed, type TestbedOptions } from '../support/testbed.ts';

interface Printed {
  readonly errors: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: Printed['errors'];
}

async function setUp(t: Test, options: Partial<TestbedOptions> = {}) {
  const testbed = await startTestbed(t, { mode: 'shared', ...options });
  return testbed;
}

async function checked({ configFile }: Pick<Testbed, 'configFile'>, ...options: readonly string[]) {
  const { code, stdout } = await printedBy(check, ['--config', configFile, '-o', 'json', ...options]);
  const { errors, warnings }: Printed = JSON.parse(stdout);
  return { code, errors, warnings };
}

const GOOD = { code: 0, errors: [], warnings: [] };
const without = (url: string) => ({ keystone: { url, caFile: 'ca.crt' }, jwt: [] });

/** Configures Stonegate with a Keystone user of its own that has these roles on the system. */
async function withService(
  { keystone, configFile, configure }: Testbed,
  roles: readonly string[],
  more: object = {},
  sections: Record<string, object> = {},
) {
  const { url } = keystone;
  await admitBridge(keystone, configFile, roles);
  await configure({
    ...sections,
    authentication: { keystone: { url, caFile: 'ca.crt', serviceCredential: BRIDGE, ...more }, jwt: [] },
  });
}

t.test('check reports nothing if all is well, as text and as JSON', async (t) => {
  const testbed = await setUp(t);
  t.same(await checked(testbed), GOOD);
  const { configFile } = testbed;
  t.same(await printedBy(check, ['--config', configFile]), {
    code: 0,
    stdout: `${configFile} is good\n`,
    stderr: '',
  });
});

t.test('Keystone', async (t) => {
  await t.test('that cannot be reached is a warning, and an error with --strict', async (t) => {
    const testbed = await setUp(t);
    await testbed.configure({ authentication: without(testbed.keystone.url) });
    await testbed.keystone.down();
    t.teardown(() => testbed.keystone.listen());
    const problem = {
      path: 'authentication.keystone.url',
      message: /cannot be reached from here.*ECONNREFUSED/,
    };
    t.match(await checked(testbed), { code: 0, errors: [], warnings: [problem] });
    t.match(await checked(testbed, '--strict'), { code: 1, errors: [problem], warnings: [] });
    t.same(await checked(testbed, '--offline', '--strict'), GOOD);
  });

  await t.test('at a wrong address is an error if there is no other source of identities', async (t) => {
    const testbed = await setUp(t);
    const url = testbed.apiServer.url.concat('/v3');
    const problem = { path: 'authentication.keystone', message: /no Keystone token.*correct url, caFile/ };
    await testbed.configure({ authentication: { keystone: { url, caFile: 'ca.crt' } } });
    t.match(await checked(testbed), { code: 0, errors: [], warnings: [problem] });
    await testbed.configure({ authentication: without(url) });
    t.match(await checked(testbed), { code: 1, errors: [problem], warnings: [] });
    const { code, stdout, stderr } = await printedBy(check, ['--config', testbed.configFile]);
    t.match({ code, stdout }, { code: 1, stdout: '' });
    t.match(stderr, /^error: authentication\.keystone: no Keystone token .*\n\S+: 1 error\n$/);
  });

  await t.test('that refuses the service credential is an error', async (t) => {
    const testbed = await setUp(t);
    await withService(testbed, ['service']);
    await writeFile(join(dirname(testbed.configFile), 'bridge-password'), 'wrong');
    const problem = {
      path: 'authentication.keystone',
      message: /refused the login .*401.*serviceCredential/,
    };
    t.match(await checked(testbed), { code: 1, errors: [problem] });
  });
});

t.test(
  'D231 it is an error if Stonegate may not read all limits of Keystone, or if a limit is missing',
  async (t) => {
    const testbed = await setUp(t);
    const { directory } = testbed.keystone;
    const sections: Record<string, object> = parse(`
      bindings: {credential: {tokenFile: cache.key}}
      admission: {bind: 127.0.0.1:0, tls: {certFile: tls.crt, keyFile: tls.key}}
      quota:
        default: {pods: '10'}
        keystoneLimits: {service: kubernetes, resources: {pods: pods, services: ports}}`);
    const limitErrors = async () =>
      (await checked(testbed)).errors.filter(({ path }) => path.startsWith('quota.keystoneLimits'));

    const onProject = { ...BRIDGE.password, scope: { projectName: 'service', projectDomainName: 'Default' } };
    const bridge = directory.user('Default', 'bridge');
    for (const role of ['service', 'reader'])
      directory.assign(bridge, role, { project: directory.project('Default', 'service') });
    await withService(testbed, [], { serviceCredential: { password: onProject } }, sections);
    const unseen = {
      path: 'quota.keystoneLimits',
      message: /of the system, and Stonegate's is of a project/,
    };
    t.match(await limitErrors(), [unseen]);

    directory.limits.push({ resource: 'pods', limit: 10 });
    await withService(testbed, ['service', 'reader'], {}, sections);
    t.match(await limitErrors(), [{ path: /services/, message: /no registered limit "ports"/ }]);

    directory.limits.push({ resource: 'ports', limit: 10 });
    t.same(await limitErrors(), []);
  },
);

t.test(
  'check names the roles that Stonegate’s user lacks at a real Keystone',
  { skip: missingKeystone() },
  async (t) => {
    const keystone = await startRealKeystone(t);
    const testbed = await setUp(t);
    const project = await keystone.make('projects', { name: 'check', domain_id: 'default' });
    const user = await keystone.make('users', {
      name: 'checker',
      domain_id: 'default',
      password: 'check-pass',
    });
    const grant = async (scope: string, name: string) =>
      keystone.call('PUT', `${scope}/users/${user}/roles/${await keystone.role(name)}`);
    await writeFile(join(dirname(testbed.configFile), 'password'), 'check-pass');
    const configure = (scope: object, more: object = {}) => {
      const password = {
        userName: 'checker',
        userDomainName: 'Default',
        password: { fromFile: 'password' },
        scope,
      };
      const real = { url: keystone.url, timeout: '60s', serviceCredential: { password }, ...more };
      return testbed.configure({ authentication: { keystone: real, jwt: [] } });
    };
    const onProject = { projectName: 'check', projectDomainName: 'Default' };
    await grant(`/projects/${project}`, 'member');
    await configure(onProject);
    t.match(await checked(testbed), {
      code: 1,
      errors: [{ message: /roles are .*member.* the role service/ }],
    });
    await grant(`/projects/${project}`, 'service');
    t.same(await checked(testbed), GOOD);
    await configure(onProject, { roleAssignments: {} });
    t.match(await checked(testbed), {
      code: 0,
      warnings: [{ message: /needs the role reader on the system/ }],
    });
    await grant('/system', 'reader');
    await configure({ system: true }, { roleAssignments: {} });
    const events = { path: 'authentication.keystone.revocationEvents', message: /needs the role service/ };
    t.match(await checked(testbed), { code: 0, errors: [], warnings: [events] });
    await grant('/system', 'service');
    t.same(await checked(testbed), GOOD);
  },
);

t.test('an issuer', async (t) => {
  const testbed = await setUp(t);
  const other = await startScriptedProvider();
  t.teardown(() => other.close());
  const jwt = (url: string) =>
    parse(`
    issuer: {url: ${url}, audiences: [kubernetes]}
    claimMappings: {username: {claim: sub, prefix: 'a:'}}
    tenant: {value: acme}`);
  const path = 'authentication.jwt[0].issuer';

  await t.test('that names itself differently is a warning', async (t) => {
    Object.assign(other.metadata, { issuer: `${other.issuer}/` });
    await testbed.configure({ authentication: { jwt: [jwt(other.issuer)] } });
    const problem = { path, message: /no token of this issuer.*issuer.*discoveryURL or caFile/ };
    t.match(
      await checked(testbed),
      { code: 0, errors: [], warnings: [problem] },
      'only a warning, since Keystone can authenticate users',
    );
  });

  await t.test('that cannot be reached is a warning', async (t) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await testbed.configure({ authentication: { jwt: [jwt(url)] } });
    const problem = { path: `${path}.url`, message: /cannot be reached from here.*ECONNREFUSED/ };
    t.match(await checked(testbed), { code: 0, errors: [], warnings: [problem] });
  });
});

t.test(
  'a Redis that refuses the password or cannot be reached is a warning',
  { skip: redisMissing() ?? false },
  async (t) => {
    const redis = await createRedisServer({ tcp: true });
    t.teardown(() => redis.remove());
    await redis.command('CONFIG', 'SET', 'requirepass', 'let-me-in');
    const testbed = await setUp(t);
    const folder = dirname(testbed.configFile);
    const use = async (url: string) => {
      await writeFile(join(folder, 'redis-url'), url);
      const sealingKeys = [{ fromFile: 'cache.key' }];
      await testbed.configure({ cache: { redis: { url: { fromFile: 'redis-url' } }, sealingKeys } });
    };
    await use(redis.url.replace('//', '//:let-me-in@'));
    t.same(await checked(testbed), GOOD);
    await use(redis.url.replace('//', '//:wrong@'));
    t.match(await checked(testbed), {
      code: 0,
      errors: [],
      warnings: [{ path: 'cache.redis', message: /WRONGPASS/ }],
    });
    await use(`redis://127.0.0.1:${await freePort()}`);
    t.match(await checked(testbed), {
      code: 0,
      warnings: [{ path: 'cache.redis', message: /ECONNREFUSED/ }],
    });
  },
);

t.test('the API server', async (t) => {
  await t.test('that does not know the credential is an error', async (t) => {
    const testbed = await setUp(t);
    await writeFile(join(dirname(testbed.configFile), 'apiserver-token'), 'unknown');
    const { code, errors } = await checked(testbed);
    const message = /refused Stonegate's own credential, so every request fails: give it a valid/;
    t.match({ code, errors }, { code: 1, errors: [{ path: 'upstream.credential', message }] });
  });

  await t.test('whose certificate is from another authority is an error', async (t) => {
    const testbed = await setUp(t);
    await testbed.configure({ upstream: { caFile: 'tls.crt' } });
    const problem = {
      path: 'upstream.caFile',
      message: /every request fails: .*not trusted by upstream\.caFile|certificate/,
    };
    t.match(await checked(testbed), { code: 1, errors: [problem] });
  });
});

const ROLE = 'stonegate-provisioner:provisioner';

for (const mode of ['arktos', 'shared'] as const)
  t.test(`${mode}: rights that the provisioner lacks are a warning`, async (t) => {
    const testbed = await setUp(t, { mode });
    const { check } = await admitProvisioner(testbed, { mode });
    t.match(await check(), { code: 0, stderr: '' });
    const { store } = testbed.apiServer.cluster;
    const [role] = store.list({ resource: 'clusterroles', name: ROLE });
    if (role === undefined) throw new Error('no role');
    store.put(role.location, { ...role.object, rules: [] });
    const { code, warnings } = await checked(testbed);
    t.equal(code, 0);
    t.match(warnings[0], { path: 'bindings.credential' });
    t.match(
      warnings[0]?.message,
      /^may not .* and \d+ more, so .*`stonegate manifests rbac --provisioner --config FILE`$/,
    );
  });

t.test('problems of the configuration are JSON too', async (t) => {
  const testbed = await setUp(t);
  await testbed.configure({ tenancy: { mode: 'none' } });
  t.match(await checked(testbed), { code: 1, errors: [{ path: 'tenancy.mode', message: /expected/ }] });
});
