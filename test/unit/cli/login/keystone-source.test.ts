import t, { type Test } from 'tap';
import { createKeystoneSource } from '../../../../src/cli/login/keystone-source.ts';
import { createFakeTerminal } from '../../../support/fake-terminal.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';
import { createAuthority } from '../../../support/tls/authority.ts';

const keystone = await createKeystoneStandIn();
t.teardown(() => keystone.close());
t.beforeEach(() => keystone.release());
const { directory } = keystone;
const alice = directory.user('acme', 'alice');
const web = directory.project('acme', 'web');
directory.assign(alice, 'member', { project: web });

type Variables = Readonly<Record<string, string>>;

const AT = { OS_AUTH_URL: keystone.url };
const ALICE = { ...AT, OS_USERNAME: 'alice', OS_USER_DOMAIN_NAME: 'acme', OS_PASSWORD: 'alice-pass' };
const WEB = { OS_PROJECT_NAME: 'web', OS_PROJECT_DOMAIN_NAME: 'acme' };

function sourceOf(env: Variables, values: Readonly<Record<string, string | boolean>> = {}, folder = '/') {
  return createKeystoneSource({ env: { HOME: '/nowhere', ...env }, values, folder });
}

async function obtain(env: Variables, values?: Readonly<Record<string, string | boolean>>) {
  const source = await sourceOf(env, values);
  return source.obtain(createFakeTerminal({ interactive: false }), undefined);
}

/** Validates the token at Keystone. */
async function validate(token: string): Promise<{ token: Readonly<Record<string, unknown>> }> {
  const headers = { 'X-Auth-Token': token, 'X-Subject-Token': token };
  return JSON.parse(await (await fetch(`${keystone.url}/auth/tokens?nocatalog`, { headers })).text());
}

async function refusedWith(t: Test, env: Variables, message: RegExp) {
  await t.rejects(obtain(env), { name: 'Error', message });
}

t.test(
  'C210 the user of an application credential is the one that Keystone reports, not the one in the settings',
  async (t) => {
    const { id, secret } = directory.applicationCredential(alice, web);
    const credential = { OS_APPLICATION_CREDENTIAL_ID: id, OS_APPLICATION_CREDENTIAL_SECRET: secret };
    const { token } = await obtain({ ...AT, ...credential, OS_USERNAME: 'root', ...WEB });
    t.match(await validate(token), { token: { user: { name: 'alice' }, project: { name: 'web' } } });
  },
);

t.test('an error about a refused login names the user, and no secret', async (t) => {
  const wrong = { ...ALICE, OS_PASSWORD: 'sesame' };
  await refusedWith(t, wrong, /^login refused: the password of alice of the domain acme .* answered 401\)$/);
  await refusedWith(t, { ...wrong, OS_USER_ID: 'a1' }, /the password of the user a1/);
  await refusedWith(t, { ...AT, OS_TOKEN: 'no token\r\nX-Evil: 1' }, /^login refused: the token has expired/);
});

t.test('an unreachable Keystone is not reported as a wrong password', async (t) => {
  for (const fault of ['error', 'redirect', 'garbage'] as const) {
    keystone.fault = fault;
    await refusedWith(t, ALICE, /^no login at Keystone http:\/\/127\.0\.0\.1:\d+\/v3: /);
  }
  keystone.fault = undefined;
  await refusedWith(t, { ...ALICE, OS_AUTH_URL: 'http://127.0.0.1:1/v3' }, /: connect ECONNREFUSED/);
});

t.test('a login at a Keystone that never responds times out', async (t) => {
  keystone.fault = 'hang';
  const terminal = createFakeTerminal({ interactive: false });
  const source = await sourceOf(ALICE);
  const refused = t.rejects(source.obtain(terminal, undefined), { message: /did not answer in time/ });
  while (keystone.hanging === 0) await new Promise((resolve) => setImmediate(resolve));
  terminal.clock.advance(30_000);
  await refused;
});

t.test(
  'the given CA is trusted, by a path relative to the working folder or to the home folder',
  async (t) => {
    const authority = await createAuthority();
    const secured = await createKeystoneStandIn({ tls: await authority.server('keystone') });
    t.teardown(() => secured.close());
    secured.directory.user('acme', 'alice');
    const folder = t.testdir({ 'ca.pem': authority.cert });
    const env = { ...ALICE, OS_AUTH_URL: secured.url, HOME: folder };
    const terminal = createFakeTerminal({ interactive: false });
    for (const caFile of ['ca.pem', '~/ca.pem']) {
      const source = await sourceOf(env, { 'os-cacert': caFile }, folder);
      await t.resolves(source.obtain(terminal, undefined), caFile);
    }
    const missing = await sourceOf(env, { 'os-cacert': 'nil.pem' }, folder);
    await t.rejects(missing.obtain(terminal, undefined), { message: /^cacert: no such file: / });
    const system = await sourceOf(env, {}, folder);
    await t.rejects(system.obtain(terminal, undefined), { message: /certificate.*--os-cacert$/ });
  },
);

t.test('each user, scope and Keystone has an identity of its own, which contains no secret', async (t) => {
  const identityOf = async (env: Variables) => JSON.stringify((await sourceOf(env)).identity);
  const different = [
    ALICE,
    { ...ALICE, ...WEB },
    { ...ALICE, OS_PROJECT_ID: web.id },
    { ...ALICE, OS_USERNAME: 'bob' },
    { ...ALICE, OS_AUTH_URL: 'https://other/v3' },
    { ...AT, OS_TOKEN: 'gAAAAAsesame' },
    { ...AT, OS_TOKEN: 'gAAAAAother' },
  ];
  const identities = await Promise.all(different.map(identityOf));
  t.equal(new Set(identities).size, different.length);
  t.notMatch(identities.join(), /alice-pass|sesame/);
  t.equal(await identityOf({ ...ALICE, OS_PASSWORD: 'changed' }), identities[0]);
});

t.test(
  'variables suffice without a cloud, even if one exists; they take precedence over a named cloud',
  async (t) => {
    const clouds = `clouds: { acme: { auth: { auth_url: '${keystone.url}', username: bob } } }`;
    const folder = t.testdir({ 'clouds.yaml': clouds });
    const { identity } = await sourceOf({ ...ALICE, OS_AUTH_URL: 'https://other/v3' }, {}, folder);
    t.match(identity[1], 'https://other/v3');
    const { OS_AUTH_URL, ...noAddress } = ALICE;
    const named = await sourceOf({ ...noAddress, OS_CLOUD: 'acme' }, {}, folder);
    t.same(named.identity, (await sourceOf(ALICE)).identity);
    const flagged = await sourceOf({}, { 'os-cloud': 'acme', 'os-username': 'carol' }, folder);
    t.match(flagged.identity[2], 'carol');
  },
);

t.test('secrets that are configured for another Keystone are not sent to --os-auth-url', async (t) => {
  const flags = { 'os-auth-url': keystone.url, 'os-username': 'alice', 'os-user-domain-name': 'acme' };
  const elsewhere = { ...ALICE, OS_AUTH_URL: 'https://other/v3' };
  const clouds = {
    other: { auth: { auth_url: 'https://other', username: 'alice', password: 'alice-pass' } },
  };
  const folder = t.testdir({ 'clouds.yaml': JSON.stringify({ clouds }) });
  const sent = keystone.calls.length;
  const secretIn = async (env: Variables) => {
    const source = await sourceOf(env, flags, folder);
    return source.obtain(createFakeTerminal({ interactive: false }), undefined);
  };
  await t.rejects(secretIn(elsewhere), { message: /password/ });
  await t.rejects(secretIn({ OS_CLOUD: 'other' }), { message: /password/ });
  t.equal(keystone.calls.length, sent, 'no request is sent to Keystone');
  t.ok((await secretIn({ ...ALICE, OS_AUTH_URL: keystone.url.replace('/v3', '/') })).token);
});
