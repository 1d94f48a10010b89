import t, { type Test } from 'tap';
import { createPasswordLogin } from '../../../../src/features/portal/portal-password-login.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { createKeystoneStandIn } from '../../../support/keystone/standin.ts';
import { startLoopbackServer } from '../../../support/oidc/loopback-server.ts';

const ALICE = { user: 'alice', domain: 'acme', password: 'alice-pass', project: 'web' };
const { signal } = new AbortController();

async function setUp(t: Test) {
  const keystone = await createKeystoneStandIn();
  const { directory } = keystone;
  const alice = directory.user('acme', 'alice');
  for (const name of ['web', 'batch'])
    directory.assign(alice, 'member', { project: directory.project('acme', name) });
  const login = createPasswordLogin({
    url: keystone.url,
    timeout: 2_000,
    clock: systemClock,
    telemetry: noTelemetry,
    logger: silentLogger,
  });
  t.teardown(() => Promise.all([login.close(), keystone.close()]));
  return { keystone, directory, login };
}

t.test('the refusal is the same, whichever value is wrong', async (t) => {
  const { login } = await setUp(t);
  for (const change of [{ password: 'x' }, { user: 'x' }, { domain: 'x' }, { project: 'x' }])
    t.same(await login.signIn({ ...ALICE, ...change }, signal), { refused: 'wrong' });
});

t.test('a Keystone that is down is not reported as a wrong password', async (t) => {
  const { login, keystone } = await setUp(t);
  await keystone.down();
  await t.rejects(login.signIn(ALICE, signal), { code: 'KeystoneUnavailable' });
  await t.rejects(login.rescope('token', 'p1'), { code: 'KeystoneUnavailable' });
});

/** A Keystone with a given response for each path. */
async function scripted(t: Test, answers: Readonly<Record<string, readonly [status: number, body: object]>>) {
  const server = await startLoopbackServer((request, response) => {
    const [status, body] = answers[(request.url ?? '').split('?', 1)[0] ?? ''] ?? [404, {}];
    response.writeHead(status, { 'content-type': 'application/json', 'x-subject-token': 'gAAAAAtoken' });
    response.end(JSON.stringify(body));
  });
  const warnings: string[] = [];
  const login = createPasswordLogin({
    url: `${server.origin}/v3`,
    timeout: 2_000,
    clock: systemClock,
    telemetry: noTelemetry,
    logger: { ...silentLogger, warn: (_fields, message) => warnings.push(message) },
  });
  t.teardown(() => Promise.all([login.close(), server.down()]));
  return { login, warnings };
}

t.test('the refusal says that a second factor is required', async (t) => {
  const receipt = { receipt: { methods: ['password'] }, required_auth_methods: [['password', 'totp']] };
  const { login } = await scripted(t, { '/v3/auth/tokens': [401, receipt] });
  t.same(await login.signIn(ALICE, signal), { refused: 'second-factor' });
});

t.test('a user can sign in without the list of projects', async (t) => {
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  for (const answer of [
    [500, {}],
    [200, { projects: 'none' }],
  ] as const) {
    const { login, warnings } = await scripted(t, {
      '/v3/auth/tokens': [201, { token: { expires_at } }],
      '/v3/auth/projects': answer,
    });
    t.same(await login.signIn(ALICE, signal), { token: 'gAAAAAtoken', projects: [] });
    t.equal(warnings.length, 1, 'and the log says why');
  }
});
