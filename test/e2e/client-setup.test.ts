/**
 * `stonegate kubeconfig --server URL` without further flags: the server says how to log in, and its
 * certificate authority is trusted only if the user confirms it.
 */
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { kubeconfig } from '../../src/cli/kubeconfig.ts';
import { CLIENT_SETUP_PATH } from '../../src/features/client-setup/client-setup-v1alpha1.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Environment,
  hasTerminal,
  NO_TERMINAL,
  runLogin,
  runLoginOnTerminal,
} from '../support/login-process.ts';
import { printedBy } from '../support/printed-io.ts';
import { startStonegate } from '../support/stonegate.ts';
import { createAuthority } from '../support/tls/authority.ts';

const folder = t.testdir();
const [port, portalPort] = [await freePort(), await freePort()];
const portalURL = `https://localhost:${portalPort}`;
const stonegate = await startStonegate(t, {
  folder,
  portal: { port: portalPort },
  configuration: {
    server: { bind: `127.0.0.1:${port}` },
    portal: { kubernetes: { name: 'demo', server: `https://127.0.0.1:${port}`, caFile: 'ca.crt' } },
  },
});
const { url, ask, keystone, authority, app } = stonegate;
const FINGERPRINT = new X509Certificate(authority.cert).fingerprint256;
const HEX = FINGERPRINT.replaceAll(':', '').toLowerCase();
const FILE = join(folder, 'written');
const SERVER = ['--server', url, '--kubeconfig', FILE];
const TERMINAL = { skip: !hasTerminal() && NO_TERMINAL };

/** Runs the command without a terminal. */
async function configure(words: readonly string[], env: Environment = {}) {
  writeFileSync(FILE, '');
  const parts = { env: { HOME: folder, ...env }, folder };
  const result = await printedBy(kubeconfig, [...SERVER, ...words], parts);
  return { ...result, written: written() };
}

/** @param dialogue what the user sees, and what the user then types */
async function converse(words: readonly string[], dialogue: readonly (readonly [string, string])[]) {
  writeFileSync(FILE, '');
  const command = runLoginOnTerminal([...SERVER, ...words], { HOME: folder }, undefined, 'kubeconfig');
  for (const [question, answer] of dialogue) {
    await command.sees(question);
    command.type(answer);
  }
  return { code: await command.ended, screen: command.screen, written: written() };
}

function written() {
  return parse(readFileSync(FILE, 'utf8'));
}

function authorityIn({ clusters: [{ cluster }] }: ReturnType<typeof written>) {
  return Buffer.from(cluster['certificate-authority-data'], 'base64').toString().trim();
}

t.test(
  'the document is served without a credential; paths below it and other methods need one',
  async (t) => {
    const found = await ask(undefined, CLIENT_SETUP_PATH);
    t.equal(found.status, 200);
    t.match(found.json(), {
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
    t.match(head, { status: 200, body: '', headers: { 'content-length': `${found.bytes.length}` } });
    t.equal((await ask('wrong', CLIENT_SETUP_PATH)).status, 200, 'a credential is ignored');
    for (const path of [
      `${CLIENT_SETUP_PATH}/`,
      `${CLIENT_SETUP_PATH}/x`,
      `/tenants/acme${CLIENT_SETUP_PATH}`,
    ])
      t.equal((await ask(undefined, path)).status, 401, path);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      t.equal((await ask(undefined, CLIENT_SETUP_PATH, { method })).status, 401, method);
    const complete = (await stonegate.audited()).filter(({ stage }) => stage === 'ResponseComplete');
    t.match(
      complete.find(({ requestURI }) => requestURI === CLIENT_SETUP_PATH),
      { responseStatus: { code: 200 } },
      'it is audited',
    );
  },
);

t.test('an unknown authority is shown, and is trusted only if the user confirms it', async (t) => {
  const refused = await configure([]);
  t.match(refused, { code: 1, stdout: '', written: null });
  t.match(refused.stderr, `SHA-256 ${HEX}`);
  t.match(refused.stderr, '--ca-fingerprint');
  const other = await configure(['--ca-fingerprint', 'a'.repeat(64)]);
  t.match(other, { code: 1, written: null, stderr: 'None has the fingerprint of --ca-fingerprint' });
  for (const words of [
    ['--ca-fingerprint', FINGERPRINT],
    ['--ca-file', join(folder, 'ca.crt')],
  ]) {
    const { code, written, stderr } = await configure([...words, '--provider', 'acme']);
    t.equal(code, 0, stderr);
    t.equal(written.clusters[0].cluster.server, url);
    t.equal(authorityIn(written), authority.cert.trim());
  }
});

const TRUST = 'Trust it (yes or no)? ';

t.test(
  'at a terminal the user is asked whether to trust the authority, and how to log in',
  TERMINAL,
  async (t) => {
    for (const [answer, end] of [
      ['no\r', 'the authority is not trusted: nothing is written'],
      ['\u0003', 'interrupted'],
      ['\u0004', 'nothing was entered'],
    ] as const) {
      const { code, screen, written } = await converse([], [[TRUST, answer]]);
      t.match({ code, written }, { code: 1, written: null });
      t.match(screen, `SHA-256 ${HEX}`);
      t.match(screen, `stonegate kubeconfig: ${end}`);
    }
    const oidc = await converse(
      [],
      [
        [TRUST, 'yes\r'],
        ['Where do you log in?', 'acme\r'],
      ],
    );
    t.equal(oidc.code, 0, oidc.screen);
    t.equal(authorityIn(oidc.written), authority.cert.trim());
    const { args } = oidc.written.users[0].user.exec;
    t.match(args, ['login', '--oidc', `--issuer-url=${stonegate.provider.issuer}`, /^--client-id=/]);
    const atKeystone = await converse(
      ['--provider', 'keystone', '--namespace', 'web'],
      [
        [TRUST, 'y\r'],
        [`Your user name at ${keystone.url}: `, 'alice\r'],
        ['Its domain (empty: Default): ', 'acme\r'],
      ],
    );
    t.equal(atKeystone.code, 0, atKeystone.screen);
    t.same(atKeystone.written.users[0].user.exec.args.slice(1), [
      ...['--keystone', `--os-auth-url=${keystone.url}`, '--os-username=alice'],
      '--os-user-domain-name=acme',
    ]);
  },
);

const TRUSTED = ['--ca-fingerprint', FINGERPRINT];

t.test('the user chooses one of several providers', async (t) => {
  const undecided = await configure(TRUSTED);
  t.match(undecided, { code: 2, stdout: '', written: null });
  t.match(undecided.stderr, /Choose with --provider NAME:\n {2}keystone {2,}.*\n {2}acme {2,}/);
  t.match(await configure([...TRUSTED, '--provider', 'nil']), { code: 2, stderr: 'no such provider' });
});

t.test('the Keystone user comes from a cloud of clouds.yaml, or from OS_USERNAME', async (t) => {
  const home = join(folder, 'home');
  mkdirSync(join(home, '.config', 'openstack'), { recursive: true });
  const auth = { auth_url: keystone.url.replace('/v3', ''), username: 'alice' };
  const clouds = { clouds: { mine: { auth }, other: { auth: { auth_url: 'https://other.example' } } } };
  const file = join(home, '.config', 'openstack', 'clouds.yaml');
  writeFileSync(file, JSON.stringify(clouds));
  const argsOf = async (provider: string, env: Environment) => {
    const words = [...TRUSTED, '--namespace', 'web', '--provider', provider];
    const { written, stderr } = await configure(words, env);
    return written?.users[0].user.exec.args.slice(1) ?? stderr;
  };
  t.same(await argsOf('keystone', { HOME: home }), ['--keystone', '--os-cloud=mine']);
  writeFileSync(file, JSON.stringify({ clouds: { ...clouds.clouds, acme: { auth } } }));
  t.same(await argsOf('keystone/acme', { HOME: home }), ['--keystone', '--os-cloud=acme']);
  t.match(await argsOf('acme', { HOME: home }), ['--oidc'], 'a provider that has the name of a cloud');
  const address = ['--keystone', `--os-auth-url=${keystone.url}`, '--os-username=alice'];
  t.same(await argsOf('keystone', { OS_USERNAME: 'alice' }), address);
  t.match(await argsOf('keystone', {}), /who are you at .*OS_USERNAME/);
  const unbound = { OS_USERNAME: 'alice', OS_PASSWORD: 'alice-pass' };
  t.match(await argsOf('keystone', unbound), /is OS_PASSWORD for .*, as the server says\? Set OS_AUTH_URL/);
  t.same(await argsOf('keystone', { ...unbound, OS_AUTH_URL: keystone.url }), address);
});

t.test('the address of the portal works too: the file has that of the API', async (t) => {
  const words = ['--kubeconfig', FILE, '--provider', 'acme', '--ca-file', join(folder, 'ca.crt')];
  const run = async (server: string) => {
    writeFileSync(FILE, '');
    const parts = { env: { HOME: folder }, folder };
    const result = await printedBy(kubeconfig, ['--server', server, ...words], parts);
    t.equal(result.code, 0, result.stderr);
    return written();
  };
  const found = await run(portalURL);
  t.equal(found.clusters[0].cluster.server, url);
  t.same(found, await run(url), 'names too');
});

t.test('an address without https:// is refused with the one that is probably meant', async (t) => {
  for (const server of ['k8s.example.com:8443', 'http://k8s.example.com:8443', 'k8s.example.com']) {
    const { code, stderr } = await printedBy(kubeconfig, ['--server', server]);
    t.equal(code, 2);
    t.match(stderr, `did you mean https://${server.replace('http://', '')}?`);
  }
});

t.test('the authorities of the system are trusted, as by kubectl', async (t) => {
  writeFileSync(FILE, '');
  const words = [...SERVER, '--provider', 'acme', '--command', '/bin/false'];
  const env = { HOME: folder, SSL_CERT_FILE: join(folder, 'ca.crt') };
  const { code, stderr } = await runLogin(words, env, 'kubeconfig');
  t.equal(code, 0, stderr);
  t.equal(written().clusters[0].cluster['certificate-authority-data'], undefined);
});

t.test('a server that is not a Stonegate is reported', async (t) => {
  const words = ['--server', stonegate.apiServer.url, '--ca-file', join(folder, 'ca.crt')];
  t.match(await configure(words), { code: 1, written: null, stderr: 'does not say how to log in' });
});

t.test('of several authorities only the one with the given fingerprint is trusted', async (t) => {
  const another = (await createAuthority()).cert;
  writeFileSync(join(folder, 'ca.crt'), another + authority.cert);
  await app.reload();
  const { code, written, stderr } = await configure([...TRUSTED, '--provider', 'acme']);
  t.equal(code, 0, stderr);
  t.equal(authorityIn(written), authority.cert.trim());
  await t.test('without a fingerprint none is trusted, and the user is not asked', TERMINAL, async (t) => {
    const { code, written, screen } = await converse([], []);
    t.match({ code, written }, { code: 1, written: null });
    for (const pem of [another, authority.cert]) {
      const { fingerprint256 } = new X509Certificate(pem);
      t.match(screen, `SHA-256 ${fingerprint256.replaceAll(':', '').toLowerCase()}`);
    }
    t.match(screen, '--ca-fingerprint SHA256');
    t.notMatch(screen, TRUST);
  });
});
