/**
 * `stonegate login --keystone` as kubectl runs it, through Stonegate to the API server, and at a terminal.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { createKubectl, findKubectls, NO_KUBECTL } from '../support/apiserver/kubectl.ts';
import {
  type Environment,
  hasTerminal,
  loginKubeconfig,
  NO_TERMINAL,
  runLogin,
  runLoginOnTerminal,
} from '../support/login-process.ts';
import { startStonegate } from '../support/stonegate.ts';

const KUBECTLS = findKubectls();
const folder = t.testdir();
const stonegate = await startStonegate(t, { folder: join(folder, 'stonegate') });
const { keystone } = stonegate;

let homes = 0;

/** The environment of a user with a home directory, whose `clouds.yaml` has this `auth`. */
function environmentOf(auth: Readonly<Record<string, string>>): Environment {
  homes += 1;
  const home = join(folder, `home-${homes}`);
  const config = join(home, '.config', 'openstack');
  mkdirSync(config, { recursive: true });
  const cloud = { cacert: join(folder, 'stonegate', 'ca.crt'), auth: { auth_url: keystone.url, ...auth } };
  writeFileSync(join(config, 'clouds.yaml'), stringify({ clouds: { acme: cloud } }));
  return { HOME: home, OS_CLOUD: 'acme', NODE_NO_WARNINGS: '1' };
}

const WEB = { project_name: 'web', project_domain_name: 'acme' };
const ALICE = { username: 'alice', user_domain_name: 'acme', ...WEB };
const WITH_PASSWORD = { ...ALICE, password: 'alice-pass' };

/** The number of logins during `work`. */
async function loginsDuring<T>(work: () => Promise<T>): Promise<[logins: number, result: T]> {
  const before = keystone.calls.length;
  const result = await work();
  return [keystone.calls.slice(before).filter((call) => call === 'POST /v3/auth/tokens').length, result];
}

function kubectlOf(t: Test, binary: string, env: Environment, apiVersion?: string) {
  const { url: server, authority } = stonegate;
  const kubectl = createKubectl(t, binary, { server, ca: authority.cert, token: 'overridden' });
  const config = join(kubectl.folder, 'with-login');
  const words = ['--keystone'];
  const version = apiVersion === undefined ? {} : { apiVersion };
  writeFileSync(config, loginKubeconfig({ server, ca: authority.cert, words, env, ...version }));
  return { ...kubectl, run: (words: string) => kubectl.run(`--kubeconfig ${config} ${words}`) };
}

t.test('kubectl logs in by itself', { skip: KUBECTLS.length === 0 && NO_KUBECTL }, async (t) => {
  for (const binary of KUBECTLS)
    for (const version of ['v1', 'v1beta1'])
      await t.test(`${binary.split('/').at(-1)} with ${version}`, async (t) => {
        const kubectl = kubectlOf(
          t,
          binary,
          environmentOf(WITH_PASSWORD),
          `client.authentication.k8s.io/${version}`,
        );
        const pods = await kubectl.run('get pods -o name');
        t.same(pods, { code: 0, stdout: 'pod/web\n', stderr: '' });
      });

  const newest = KUBECTLS.at(-1) ?? '';

  await t.test('the second call uses the token of the first', async (t) => {
    const kubectl = kubectlOf(t, newest, environmentOf(WITH_PASSWORD));
    await kubectl.run('get pods');
    const [logins, { code }] = await loginsDuring(() => kubectl.run('get pods'));
    t.same([logins, code], [0, 0]);
  });
});

t.test('C256 no terminal and no password: a clear error, no prompt, no hang', async (t) => {
  const { code, stdout, stderr } = await runLogin(['--keystone'], environmentOf(ALICE));
  t.same([code, stdout], [1, '']);
  t.match(
    stderr,
    /password of alice of the domain acme is missing.*there is no terminal to ask.*OS_PASSWORD/,
  );
});

t.test('a login that fails says when the last token expired', async (t) => {
  const env = environmentOf(WITH_PASSWORD);
  await runLogin(['--keystone'], env);
  const cache = join(env.HOME ?? '', '.cache', 'stonegate');
  const [file = ''] = readdirSync(cache).filter((name) => name.endsWith('.json'));
  const token: object = JSON.parse(readFileSync(join(cache, file), 'utf8'));
  const ended = { obtainedAt: 0, expiresAt: Date.UTC(2020, 0, 1) };
  writeFileSync(join(cache, file), JSON.stringify({ ...token, ...ended }));
  const { code, stderr } = await runLogin(['--keystone'], { ...env, OS_PASSWORD: 'wrong' });
  t.equal(code, 1);
  t.match(
    stderr,
    /^stonegate login: login refused: .*\nThe last token expired at 2020-01-01T00:00:00.000Z.\n$/,
  );
});

t.test('logout forgets the token and revokes it at Keystone', async (t) => {
  const env = environmentOf(WITH_PASSWORD);
  const { stdout: credential } = await runLogin(['--keystone'], env);
  t.match(
    JSON.parse(credential),
    { kind: 'ExecCredential' },
    'standard output gets the token if it is not a terminal',
  );
  t.match(await runLogin(['--keystone'], env, 'logout'), {
    code: 0,
    stdout: 'logged out: alice of the domain acme, project web\n',
  });
  t.same(await runLogin(['--keystone'], env, 'logout'), {
    ...{ code: 0, stdout: 'no cached token\n', stderr: '' },
  });
  t.ok(keystone.calls.includes('DELETE /v3/auth/tokens'));
});

t.test('logout without options forgets every cached token, and contacts no provider', async (t) => {
  const env = environmentOf(WITH_PASSWORD);
  await runLogin(['--keystone'], env);
  const before = keystone.calls.length;
  t.match(await runLogin([], env, 'logout'), { code: 0, stdout: '1 cached token forgotten\n' });
  t.equal(keystone.calls.length, before);
  const [logins] = await loginsDuring(() => runLogin(['--keystone'], env));
  t.equal(logins, 1);
});

t.test('at a terminal', { skip: !hasTerminal() && NO_TERMINAL }, async (t) => {
  await t.test('the password is prompted for, and not shown', async (t) => {
    const stdout = join(folder, 'asked.json');
    const login = runLoginOnTerminal(['--keystone'], environmentOf(ALICE), stdout);
    await login.sees('The password of alice of the domain acme at ');
    login.type('alice-pasX\u007fs\r');
    t.equal(await login.ended, 0);
    t.match(JSON.parse(readFileSync(stdout, 'utf8')), { kind: 'ExecCredential' });
    t.notMatch(login.screen, 'alice-pas');
  });

  await t.test('a user sees who is logged in and until when, and the token only with --print', async (t) => {
    const env = environmentOf(WITH_PASSWORD);
    const login = runLoginOnTerminal(['--keystone'], env);
    t.equal(await login.ended, 0);
    t.match(login.screen, /^logged in until 20\S+Z: alice of the domain acme, project web\r\n$/);
    const printed = runLoginOnTerminal(['--keystone', '--print'], env);
    t.equal(await printed.ended, 0);
    t.match(printed.screen, '"kind":"ExecCredential"');
  });

  await t.test('Ctrl-C ends the login and writes nothing to standard output', async (t) => {
    const stdout = join(folder, 'interrupted.json');
    const env = environmentOf(ALICE);
    const login = runLoginOnTerminal(['--keystone'], env, stdout);
    await login.sees('The password of');
    login.type('\u0003');
    t.equal(await login.ended, 1);
    t.equal(readFileSync(stdout, 'utf8'), '');
    t.match(login.screen, 'stonegate login: interrupted');
    const given = { ...env, OS_PASSWORD: 'alice-pass' };
    t.equal((await runLogin(['--keystone'], given)).code, 0, 'the next login succeeds');
  });
});
