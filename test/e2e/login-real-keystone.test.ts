/**
 * `stonegate login --keystone` at a real Keystone, run by kubectl, in front of a Stonegate that uses the same
 * Keystone.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import {
  missingKeystone,
  passwordOf,
  type RealKeystone,
  startRealKeystone,
} from '../support/keystone/real-keystone.ts';
import { type Environment, loginKubeconfig, runLogin } from '../support/login-process.ts';
import { startStonegate } from '../support/stonegate.ts';

type Fields = Readonly<Record<string, unknown>>;

const [kubectlPath] = findKubectls().slice(-1);
const skip = missingKeystone() || (kubectlPath === undefined && NO_KUBECTL);

/** Creates alice of acme with a project. @returns what she logs in with */
async function seed(keystone: RealKeystone) {
  const acme = await keystone.make('domains', { name: 'acme' });
  const web = await keystone.make('projects', { name: 'web', domain_id: acme });
  const user = (name: string, fields: Fields = {}) =>
    keystone.make('users', { name, domain_id: acme, password: `${name}-pass`, ...fields });
  const alice = await user('alice');
  // Both methods are enabled in Keystone by default.
  const rules = [['password', 'external']];
  const factors = { options: { multi_factor_auth_enabled: true, multi_factor_auth_rules: rules } };
  const heidi = await user('heidi', factors);
  const { body } = await keystone.call('GET', '/roles?name=member');
  const [role] = Array.isArray(body.roles) ? body.roles : [];
  for (const each of [alice, heidi])
    await keystone.call('PUT', `/projects/${web}/users/${each}/roles/${role?.id}`);
  await keystone.call('PUT', `/domains/${acme}/users/${alice}/roles/${role?.id}`);
  const scope = { project: { id: web } };
  const token = await keystone.login(passwordOf('alice', 'acme', 'alice-pass'), scope);
  const { body: made } = await keystone.call(
    'POST',
    `/users/${alice}/application_credentials`,
    { application_credential: { name: 'kubectl', secret: 'the-secret' } },
    { 'X-Auth-Token': token },
  );
  const credential = made.application_credential;
  const id = typeof credential === 'object' && credential !== null && 'id' in credential ? credential.id : '';
  return { token, credential: String(id) };
}

t.test('a real Keystone', { skip }, async (t) => {
  const keystone = await startRealKeystone(t);
  const { token, credential } = await seed(keystone);
  const folder = t.testdir();
  const stonegate = await startStonegate(t, {
    folder: join(folder, 'stonegate'),
    configuration: { authentication: { keystone: { url: keystone.url } } },
  });
  const { url: server, authority } = stonegate;
  const kubectl = createKubectl(t, kubectlPath ?? '', { server, ca: authority.cert, token: 'overridden' });
  const base = keystone.url.replace(/\/v3$/, '');
  let homes = 0;

  /** A user whose home has this cloud; the address lacks `/v3`, as in many configurations. */
  function environmentWith(cloud: Fields) {
    homes += 1;
    const home = join(folder, `home-${homes}`);
    mkdirSync(join(home, '.config', 'openstack'), { recursive: true });
    const auth = { auth_url: base, ...(typeof cloud.auth === 'object' ? cloud.auth : {}) };
    const clouds = { clouds: { acme: { ...cloud, auth } } };
    writeFileSync(join(home, '.config', 'openstack', 'clouds.yaml'), stringify(clouds));
    return { HOME: home, OS_CLOUD: 'acme', NODE_NO_WARNINGS: '1' };
  }

  async function whoami(env: Environment) {
    const config = join(kubectl.folder, `kubeconfig-${homes}`);
    writeFileSync(config, loginKubeconfig({ server, ca: authority.cert, words: ['--keystone'], env }));
    const { stdout, stderr } = await kubectl.run([
      '--kubeconfig',
      config,
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    ]);
    return stdout || stderr;
  }

  const alice = { username: 'alice', user_domain_name: 'acme', password: 'alice-pass' };
  const inWeb = { project_name: 'web', project_domain_name: 'acme' };

  await t.test('a user logs in with a password', async (t) =>
    t.equal(await whoami(environmentWith({ auth: { ...alice, ...inWeb } })), 'acme:alice'),
  );

  await t.test('a user logs in without a scope, and with the scope of a domain', async (t) => {
    t.equal(await whoami(environmentWith({ auth: { ...alice, unscoped: true } })), 'acme:alice');
    t.equal(await whoami(environmentWith({ auth: { ...alice, domain_name: 'acme' } })), 'acme:alice');
  });

  await t.test('a user logs in with an application credential', async (t) => {
    const auth = { application_credential_id: credential, application_credential_secret: 'the-secret' };
    const cloud = { auth_type: 'v3applicationcredential', auth };
    t.equal(await whoami(environmentWith(cloud)), `acme:application-credential:${credential}`);
  });

  await t.test('a user logs in with a token, as it is and exchanged for an unscoped one', async (t) => {
    const env = { ...environmentWith({ auth_type: 'v3token' }), OS_TOKEN: token };
    t.equal(await whoami(env), 'acme:alice');
    const exchanged = await runLogin(['--keystone', '--unscoped'], env);
    t.match(exchanged, { code: 0, stderr: '' });
    t.notMatch(exchanged.stdout, token);
  });

  await t.test(
    'C255 a wrong password is refused, and so is a project in which the user has no role',
    async (t) => {
      for (const wrong of [
        { ...alice, password: 'sesame' },
        { ...alice, project_id: 'nil' },
      ]) {
        const { code, stdout, stderr } = await runLogin(['--keystone'], environmentWith({ auth: wrong }));
        t.same([code, stdout], [1, '']);
        t.match(stderr, /login refused: the password of alice of the domain acme is wrong, or /);
      }
    },
  );

  await t.test(
    'a refusal says whether an application credential is unknown or its secret is wrong',
    async (t) => {
      const auth = { application_credential_id: credential, application_credential_secret: 'sesame' };
      const wrong = await runLogin(['--keystone'], environmentWith({ auth }));
      t.match(wrong.stderr, /the secret of the application credential \w+ is wrong/);
      const unknown = { ...auth, application_credential_id: 'f'.repeat(32) };
      const { stderr } = await runLogin(['--keystone'], environmentWith({ auth: unknown }));
      t.match(stderr, /there is no application credential f+/);
    },
  );

  await t.test('a user who needs a second factor gets instructions', async (t) => {
    const auth = { ...alice, username: 'heidi', password: 'heidi-pass', ...inWeb };
    const { code, stdout, stderr } = await runLogin(['--keystone'], environmentWith({ auth }));
    t.same([code, stdout], [1, '']);
    t.match(
      stderr,
      /one proof is not enough: Keystone asks for (?:external with password|password with external) of heidi .*application credential create/,
    );
  });
});
