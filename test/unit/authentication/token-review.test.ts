import t from 'tap';
import type { UserInfo } from '../../../src/api/authentication-v1.ts';
import type { Credential } from '../../../src/authentication/credential.ts';
import { createTokenReviewAuthenticator } from '../../../src/authentication/token-review.ts';
import { type VouchedTenantRules, vouchedUserCodec } from '../../../src/authentication/vouched-user.ts';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createCredentialCache } from '../../../src/cache/tiered.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const CONTEXT = { source: '192.0.2.1' };
const ZOE: UserInfo = { username: 'zoe', uid: 'u', groups: ['g'], extra: {} };
const START = Date.parse('2026-11-21T01:00:00Z');

function scene(
  answer: () => UserInfo | undefined = () => ZOE,
  rules: VouchedTenantRules = { tenant: 'acme' },
) {
  const clock = createFakeClock(START);
  const asked: string[] = [];
  const entered: string[] = [];
  const authenticator = createTokenReviewAuthenticator({
    reviewer: {
      async review(token) {
        asked.push(token);
        return answer();
      },
    },
    cache: createCredentialCache({
      name: 'token-review',
      ttl: 60_000,
      negativeTTL: 5_000,
      staleIfUnavailable: 0,
      maxEntries: 10,
      configurationDigest: 'd',
      shared: createProcessCache({ clock, longestLife: 60_000 }),
      codec: vouchedUserCodec,
      clock,
      random: systemRandom,
      logger: silentLogger,
      telemetry: noTelemetry,
    }),
    gate: {
      enter(source, work) {
        entered.push(source);
        return work();
      },
    },
    rules,
    clock,
    tagsOf: ({ user }) => [user.username],
  });
  return {
    asked,
    entered,
    clock,
    authenticator,
    bearer: async (token: string) => authenticator.authenticate({ kind: 'bearer', token }, CONTEXT),
  };
}

/** A JWT that ends so many seconds after the start. */
function jwtUntil(seconds: number): string {
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encoded({ alg: 'RS256' })}.${encoded({ exp: START / 1_000 + seconds })}.c2ln`;
}

t.test('whom the API server vouches for is whom it says, of the tenant that is theirs', async (t) => {
  const { bearer } = scene();
  t.match(await bearer('opaque'), {
    authenticator: 'token-review',
    subject: { kind: 'upstream', user: ZOE },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid: 'u',
    groups: ['g'],
    expiresAt: Number.POSITIVE_INFINITY,
  });
});

t.test('no other kind of credential is taken', async (t) => {
  const { authenticator, asked } = scene();
  const others: Credential[] = [
    { kind: 'x-auth-token', token: 'opaque' },
    { kind: 'basic', userName: 'zoe', password: 'p' },
  ];
  for (const credential of others) t.equal(await authenticator.authenticate(credential, CONTEXT), undefined);
  t.same(asked, []);
});

t.test('the API server is asked once a minute, through the gate', async (t) => {
  const { bearer, asked, entered, clock } = scene();
  const first = await bearer('opaque');
  t.equal(await bearer('opaque'), first, 'the same identity, made once');
  t.same([asked, entered], [['opaque'], ['192.0.2.1']]);
  clock.advance(60_000);
  await bearer('opaque');
  t.equal(asked.length, 2);
});

t.test('a token is let in no longer than it says itself', async (t) => {
  const { bearer, clock } = scene();
  const token = jwtUntil(10);
  t.match(await bearer(token), { expiresAt: START + 10_000 });
  clock.advance(10_000);
  await t.rejects(bearer(token), { code: 'CredentialInvalid' });
});

t.test('one that is over already is refused, whoever vouches for it', async (t) => {
  await t.rejects(scene().bearer(jwtUntil(-1)), { code: 'CredentialInvalid' });
});

t.test('a bad token is remembered for seconds', async (t) => {
  const { bearer, asked, clock } = scene(() => undefined);
  for (let i = 0; i < 3; i += 1) await t.rejects(bearer('bad'), { code: 'CredentialInvalid' });
  t.equal(asked.length, 1);
  clock.advance(5_000);
  await t.rejects(bearer('bad'), { code: 'CredentialInvalid' });
  t.equal(asked.length, 2);
});

t.test('an API server that cannot be asked makes no token bad', async (t) => {
  let down = true;
  const { bearer } = scene(() => {
    if (down) throw new StatusError('UpstreamUnavailable', 'down');
    return ZOE;
  });
  await t.rejects(bearer('opaque'), { code: 'UpstreamUnavailable' });
  down = false;
  t.ok(await bearer('opaque'));
});

t.test('a token that was refused where it went is asked about anew', async (t) => {
  const { bearer, authenticator, asked } = scene();
  await bearer('opaque');
  authenticator.forget?.('opaque');
  await bearer('opaque');
  t.equal(asked.length, 2);
});

t.test('who is of no tenant is refused', async (t) => {
  const { bearer } = scene(() => ZOE, { isOrdinaryTenant: () => false });
  await t.rejects(bearer('opaque'), { code: 'CredentialInvalid', cause: /which tenant/ });
});

for (const [what, token] of [
  ['too long', 'x'.repeat(16 * 1024 + 1)],
  ['of two words', 'a b'],
  ['with a line break', 'a\r\nImpersonate-User: admin'],
  ['beyond ASCII', 'tökën'],
  ['with "=" in its midst', 'a=b'],
  ['empty', ''],
] as const)
  t.test(`what is ${what} is no token, and nobody is asked`, async (t) => {
    const { bearer, asked } = scene();
    await t.rejects(bearer(token), { code: 'CredentialInvalid' });
    t.same(asked, []);
  });
