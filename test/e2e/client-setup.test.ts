/**
 * `stonegate kubeconfig --server URL` with nothing else: the server says how to log in, and its authority is
 * trusted only by someone's word.
 */
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { kubeconfig } from '../../src/cli/kubeconfig.ts';
import { CLIENT_SETUP_PATH } from '../../src/features/client-setup/client-setup-v1alpha1.ts';
import { freePort } from '../support/free-port.ts';
import { printedIO } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';

const folder = t.testdir();
const stonegate = await startStonegate(t, { folder, portal: { port: await freePort() } });
const { url, ask, keystone, authority } = stonegate;
const FINGERPRINT = new X509Certificate(authority.cert).fingerprint256;

interface Asked {
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly answers?: readonly string[];
}

/** Without a terminal unless there are answers. */
async function configure(words: readonly string[], { home = t.testdirName, env = {}, answers }: Asked = {}) {
  const { io, printed } = printedIO();
  const questions: string[] = [];
  const left = [...(answers ?? [])];
  const question = async (text: string) => {
    questions.push(text);
    return left.shift() ?? '';
  };
  const file = join(folder, 'written');
  writeFileSync(file, '');
  const code = await kubeconfig(['--server', url, '--kubeconfig', file, ...words], io, {
    env: { HOME: home, ...env },
    folder,
    ...(answers && { question }),
  });
  return { code, ...printed, questions, written: parse(readFileSync(file, 'utf8')) };
}

t.test('the document needs no user; what else is below the path, or is no GET, does', async (t) => {
  const found = await ask(undefined, CLIENT_SETUP_PATH);
  t.equal(found.status, 200);
  t.match(JSON.parse(found.body), {
    kind: 'ClientSetup',
    apiVersion: 'stonegate.dev/v1alpha1',
    spec: {
      tenancyMode: 'arktos',
      certificateAuthority: authority.cert,
      keystone: { url: keystone.url },
      oidc: [{ name: String, issuer: stonegate.provider.issuer, clientID: String }],
    },
  });
  const head = await ask(undefined, CLIENT_SETUP_PATH, { method: 'HEAD' });
  t.match(head, { status: 200, body: '' });
  t.equal((await ask('wrong', CLIENT_SETUP_PATH)).status, 200, 'a credential is not looked at');
  t.equal((await ask(undefined, `${CLIENT_SETUP_PATH}/x`)).status, 401);
  t.equal((await ask(undefined, CLIENT_SETUP_PATH, { method: 'POST' })).status, 401);
  const complete = (await stonegate.audited()).filter(({ stage }) => stage === 'ResponseComplete');
  t.match(
    complete.find(({ requestURI }) => requestURI === CLIENT_SETUP_PATH),
    { responseStatus: { code: 200 } },
    'it is audited',
  );
});

t.test('an unknown authority is shown, and taken by no one but the user', async (t) => {
  const hex = FINGERPRINT.replaceAll(':', '').toLowerCase();
  const refused = await configure([]);
  t.match(refused, { code: 1, stdout: '', written: null });
  t.match(refused.stderr, `SHA-256 ${hex}`);
  t.match(refused.stderr, '--ca-fingerprint');
  const other = await configure(['--ca-fingerprint', 'a'.repeat(64)], { answers: ['yes'] });
  t.match(other, { code: 1, written: null, questions: [], stderr: 'not the one of --ca-fingerprint' });
  const no = await configure([], { answers: ['no'] });
  t.match(no, { code: 1, written: null, stderr: 'not trusted' });
  t.match(no.questions, [`SHA-256 ${hex}`]);
  for (const [words, answers] of [
    [['--ca-fingerprint', FINGERPRINT], []],
    [['--ca-file', join(folder, 'ca.crt')], []],
    [[], ['yes']],
  ] as const) {
    const { code, written, stderr } = await configure([...words, '--provider', 'acme'], { answers });
    t.equal(code, 0, stderr);
    const { server, 'certificate-authority-data': written64 } = written.clusters[0].cluster;
    t.equal(server, url);
    t.equal(new X509Certificate(Buffer.from(written64, 'base64')).fingerprint256, FINGERPRINT);
  }
});

const TRUSTED = ['--ca-fingerprint', FINGERPRINT];

t.test('of several providers the user chooses one', async (t) => {
  const undecided = await configure(TRUSTED);
  t.match(undecided, { code: 2, stdout: '', written: null });
  t.match(undecided.stderr, /Choose with --provider NAME:\n {2}keystone {2,}.*\n {2}acme {2,}/);
  t.match(await configure([...TRUSTED, '--provider', 'nil']), { code: 2, stderr: 'no such provider' });
  const { code, questions, written } = await configure(TRUSTED, { answers: ['acme'] });
  t.equal(code, 0);
  t.match(questions, [/Where do you log in\?\n {2}keystone/]);
  const { args } = written.users[0].user.exec;
  t.match(args, ['login', '--oidc', `--issuer-url=${stonegate.provider.issuer}`, /^--client-id=/]);
});

t.test('at Keystone the user is a cloud of clouds.yaml, or OS_USERNAME, or asked for', async (t) => {
  const home = join(folder, 'home');
  mkdirSync(join(home, '.config', 'openstack'), { recursive: true });
  const auth = { auth_url: keystone.url.replace('/v3', ''), username: 'alice' };
  const clouds = { clouds: { mine: { auth }, other: { auth: { auth_url: 'https://other.example' } } } };
  writeFileSync(join(home, '.config', 'openstack', 'clouds.yaml'), JSON.stringify(clouds));
  const words = [...TRUSTED, '--namespace', 'web', '--provider'];
  const argsOf = async (provider: string, asked: Asked) => {
    const { written, stderr } = await configure([...words, provider], asked);
    return written?.users[0].user.exec.args.slice(1) ?? stderr;
  };
  t.same(await argsOf('mine', { home }), ['--keystone', '--os-cloud=mine']);
  const address = ['--keystone', `--os-auth-url=${keystone.url}`, '--os-username=alice'];
  const env = { OS_USERNAME: 'alice' };
  t.same(await argsOf('keystone', { env }), address);
  t.same(await argsOf('keystone', { answers: ['alice', 'acme'] }), [
    ...address,
    '--os-user-domain-name=acme',
  ]);
  t.match(await argsOf('keystone', {}), /who are you at .*OS_USERNAME/);
});
