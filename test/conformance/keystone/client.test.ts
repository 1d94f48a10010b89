/**
 * The Keystone client handles the recorded responses of a real Keystone to validations: each is replayed byte
 * by byte, with the clock at the time of its recording.
 */
import t from 'tap';
import type { KeystoneServiceCredential } from '../../../src/config/core-configuration.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createKeystoneClient } from '../../../src/identity/keystone/keystone.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { type Recording, recordedAt, recordings, replay } from '../../support/keystone/recordings.ts';

const OWN_TOKEN = 'gAAAAABstonegates-own-token';
const CREDENTIAL: KeystoneServiceCredential = {
  applicationCredential: { id: 'stonegate', secret: { fromEnv: 'SECRET' } },
};

/**
 * Tokens that are refused although Keystone responds 200: expired, limited by access rules, EC2, or without
 * a role.
 */
const REFUSED_THOUGH_VALID = new Set([
  'effect-system-role-removed',
  'validate-access-rules-with-header',
  'validate-access-rules-with-header-1.0',
  'validate-expired-allow-expired',
  'validate-expired-own-by-fresh-token-allow-expired',
  'validate-subject-ec2',
]);

/** Keystone issues no such tokens, or they are too long: they are refused without asking Keystone. */
const MISSPELT = new Set([
  'validate-alias-extra-padding',
  'validate-alias-inner-junk',
  'validate-alias-inner-spaces',
  'validate-alias-padded',
  'validate-alias-standard-base64',
  'validate-alias-trailing-junk',
  'validate-bearer-prefix',
  'validate-empty-subject-token',
  'validate-latin1-subject-token',
  'validate-long-subject-token-40k',
  'validate-long-subject-token-70k',
  'validate-no-subject-token',
  'validate-surrounding-blanks',
]);

type Verdict = 'a token' | 'bad' | 'unavailable';

async function verdict(one: Recording, credential?: KeystoneServiceCredential) {
  const server = await replay(one, OWN_TOKEN);
  const client = createKeystoneClient({
    url: server.url,
    ...(credential && { credential }),
    secret: 'secret',
    timeout: 5_000,
    clock: createFakeClock(recordedAt(one)),
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  const subject = one.request.headers['X-Subject-Token'] ?? one.request.headers['x-subject-token'] ?? '';
  try {
    const token = await client.validate(subject);
    return { verdict: (token ? 'a token' : 'bad') satisfies Verdict, token, requests: server.requests };
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 'KeystoneUnavailable') throw error;
    return { verdict: 'unavailable' satisfies Verdict, token: undefined, requests: server.requests };
  } finally {
    await client.close();
    await server.close();
  }
}

function expected({ name, response }: Recording, byItself: boolean) {
  if (MISSPELT.has(name) || REFUSED_THOUGH_VALID.has(name)) return 'bad';
  if (response.status === 200) return 'a token';
  if (response.status === 404) return name === 'error-unknown-path' ? 'unavailable' : 'bad';
  return byItself && (response.status === 401 || response.status === 403) ? 'bad' : 'unavailable';
}

const validations = recordings(/^(validate|effect)-/).filter((one) => one.request.method === 'GET');
const errors = recordings(/^error-/).map((one) => ({
  ...one,
  request: { ...one.request, headers: { 'X-Subject-Token': 'gAAAAABsomebodys' } },
}));

t.test('with a service credential, Keystone’s recorded responses are understood', async (t) => {
  for (const one of [...validations, ...errors]) {
    const { verdict: found, requests } = await verdict(one, CREDENTIAL);
    t.equal(found, expected(one, false), `${one.name} (${one.response.status})`);
    if (MISSPELT.has(one.name)) t.equal(requests.length, 0, `Keystone is not asked about ${one.name}`);
  }
});

t.test('if a token validates itself, Keystone’s recorded responses are understood', async (t) => {
  const alone = validations.filter(
    ({ request }) => request.headers['X-Auth-Token'] === request.headers['X-Subject-Token'],
  );
  for (const one of [...alone, ...errors]) {
    const { verdict: found } = await verdict(one);
    t.equal(found, expected(one, true), `${one.name} (${one.response.status})`);
  }
});

t.test('the client validates with GET and nocatalog, and declares no support for access rules', async (t) => {
  const [one] = recordings(/^validate-by-service-user-nocatalog$/);
  if (!one) throw new Error('the recording is gone');
  const { requests } = await verdict(one, CREDENTIAL);
  t.match(requests, [
    { method: 'POST', url: '/v3/auth/tokens?nocatalog' },
    { method: 'GET', url: '/v3/auth/tokens?nocatalog', headers: { 'x-auth-token': OWN_TOKEN } },
  ]);
  t.notHas(requests[1]?.headers, { 'openstack-identity-access-rules': String });
});

t.test('an expiry without a time zone is in UTC', async (t) => {
  const [one] = recordings(/^validate-application-credential-expiring$/);
  if (!one) throw new Error('the recording is gone');
  const { token } = await verdict(one, CREDENTIAL);
  t.equal(token?.expiresAt, Date.parse('2026-11-21T00:28:08Z'));
});

t.test('if Keystone refuses Stonegate’s login, the requests that wait for it get a 503', async (t) => {
  const refusals = recordings(/^auth-/).filter(({ response }) => response.status >= 400);
  for (const one of refusals) {
    const asked = { ...one, request: { ...one.request, headers: { 'X-Subject-Token': 'gAAAAABsomebodys' } } };
    const { verdict: found, requests } = await verdict(asked, CREDENTIAL);
    t.equal(found, 'unavailable', `${one.name} (${one.response.status})`);
    t.equal(requests.length, 1, 'nothing is asked without a login');
  }
});
