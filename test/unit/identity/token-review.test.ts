import fc from 'fast-check';
import t from 'tap';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createCredentialCache } from '../../../src/cache/tiered.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { Credential } from '../../../src/identity/credential.ts';
import {
  createTokenReviewAuthenticator,
  type ReviewedTenantRules,
  reviewedUser,
  reviewedUserCodec,
  tenantOfReviewed,
} from '../../../src/identity/token-review.ts';
import type { UserInfo } from '../../../src/kubernetes/authentication-v1.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemRandom } from '../../../src/lib/random.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const CONTEXT = { source: '192.0.2.1' };
const ZOE: UserInfo = { username: 'zoe', uid: 'u', groups: ['g'], extra: {} };
const START = Date.parse('2026-11-21T01:00:00Z');

function scene(
  answer: () => UserInfo | undefined = () => ZOE,
  rules: ReviewedTenantRules = { tenant: 'acme' },
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
      ttl: 60_000,
      negativeTTL: 5_000,
      staleIfUnavailable: 0,
      maxEntries: 10,
      configurationDigest: 'd',
      shared: createProcessCache({ clock, longestLife: 60_000 }),
      codec: reviewedUserCodec,
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

t.test('a reviewed user has the API server’s user name and their own tenant', async (t) => {
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

t.test('a token is reviewed once a minute, and counts against the rate of unknown credentials', async (t) => {
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

t.test('an expired token is refused, even if the API server accepts it', async (t) => {
  await t.rejects(scene().bearer(jwtUntil(-1)), { code: 'CredentialInvalid' });
});

t.test('a bad token is cached for seconds', async (t) => {
  const { bearer, asked, clock } = scene(() => undefined);
  for (let i = 0; i < 3; i += 1) await t.rejects(bearer('bad'), { code: 'CredentialInvalid' });
  t.equal(asked.length, 1);
  clock.advance(5_000);
  await t.rejects(bearer('bad'), { code: 'CredentialInvalid' });
  t.equal(asked.length, 2);
});

t.test('an unavailable API server makes no token invalid', async (t) => {
  let down = true;
  const { bearer } = scene(() => {
    if (down) throw new StatusError('UpstreamUnavailable', 'down');
    return ZOE;
  });
  await t.rejects(bearer('opaque'), { code: 'UpstreamUnavailable' });
  down = false;
  t.ok(await bearer('opaque'));
});

t.test('a token that the API server refused after its review is reviewed again', async (t) => {
  const { bearer, authenticator, asked } = scene();
  await bearer('opaque');
  authenticator.forget?.('opaque');
  await bearer('opaque');
  t.equal(asked.length, 2);
});

t.test('a user without a tenant is refused', async (t) => {
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
  t.test(`what is ${what} is no token, and no TokenReview is created`, async (t) => {
    const { bearer, asked } = scene();
    await t.rejects(bearer(token), { code: 'CredentialInvalid' });
    t.same(asked, []);
  });

const ROBOT = {
  username: 'system:serviceaccount:default:robot',
  uid: 'u',
  groups: ['g'],
  extra: { k: ['v'] },
};
const ordinary = { isOrdinaryTenant: (word: string) => /^[a-z]+$/.test(word) && word !== 'system' };

function named(username: string) {
  return { user: { ...ROBOT, username } };
}

/** A JWT of that payload, as text. */
function jwt(payload: string): string {
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  return `${encoded('{"alg":"RS256"}')}.${encoded(payload)}.c2ln`;
}

t.test('a token’s tenant and expiry are cached with its user', async (t) => {
  const token = jwt('{"exp":100,"kubernetes.io/serviceaccount/tenant":"acme"}');
  t.same(reviewedUser(token, ROBOT), { user: ROBOT, expiresAt: 100_000, tenantClaim: 'acme' });
});

t.test('a token that is no JWT has neither', async (t) => {
  t.same(reviewedUser('opaque', ROBOT), { user: ROBOT });
});

t.test('a claim that is no text is no tenant, and does not count as absent', async (t) => {
  for (const claim of ['1', 'null', '["acme"]', '{"a":"acme"}'])
    t.match(reviewedUser(jwt(`{"kubernetes.io/serviceaccount/tenant":${claim}}`), ROBOT), {
      tenantClaim: '',
    });
});

t.test('a token that two parsers could read differently is refused', async (t) => {
  const key = '"kubernetes.io/serviceaccount/tenant"';
  t.equal(reviewedUser(jwt(`{${key}:"acme",${key}:"globex"}`), ROBOT), undefined);
});

t.test('in arktos mode', async (t) => {
  t.test('a service account is of the tenant its token names', async (t) => {
    t.equal(tenantOfReviewed({ user: ROBOT, tenantClaim: 'acme' }, { ...ordinary, tenant: 'other' }), 'acme');
    t.equal(tenantOfReviewed({ user: ROBOT, tenantClaim: 'system' }, ordinary), 'system');
  });
  t.test('without one it is of the configured tenant, or of none', async (t) => {
    t.equal(tenantOfReviewed({ user: ROBOT }, { ...ordinary, tenant: 'other' }), 'other');
    t.equal(tenantOfReviewed({ user: ROBOT }, ordinary), undefined);
  });
  t.test(
    'another user is of the tenant that their name begins with, whatever the token claims',
    async (t) => {
      t.equal(tenantOfReviewed({ ...named('acme:zoe'), tenantClaim: 'globex' }, ordinary), 'acme');
    },
  );
  for (const name of [
    'system:admin',
    'system:serviceaccount:robot',
    'system:node:n1',
    ':zoe',
    'zoe',
    'ACME:zoe',
    '',
  ])
    t.test(`the name ${JSON.stringify(name)} says no tenant`, async (t) => {
      t.equal(tenantOfReviewed(named(name), ordinary), undefined);
      t.equal(tenantOfReviewed(named(name), { ...ordinary, tenant: 'other' }), 'other');
    });
});

t.test('in a cluster without tenants every user is of the configured tenant', async (t) => {
  for (const user of [{ user: ROBOT, tenantClaim: 'globex' }, named('acme:zoe')])
    t.equal(tenantOfReviewed(user, { tenant: 'robots' }), 'robots');
});

t.test('what a replica wrote is read back as it was', async (t) => {
  for (const reviewed of [{ user: ROBOT }, { user: ROBOT, expiresAt: 5, tenantClaim: 'acme' }])
    t.same(reviewedUserCodec.decode(reviewedUserCodec.encode(reviewed)), reviewed);
});

t.test('what another version wrote in another shape counts as not found', async (t) => {
  const shapes: unknown[] = [
    null,
    [],
    {},
    { user: { ...ROBOT, username: '' } },
    { user: { ...ROBOT, groups: 'g' } },
    { user: { ...ROBOT, groups: [1] } },
    { user: { ...ROBOT, extra: { k: 'v' } } },
    { user: { ...ROBOT, uid: 1 } },
    { user: ROBOT, expiresAt: null },
    { user: ROBOT, tenantClaim: 1 },
  ];
  for (const shape of shapes) t.equal(reviewedUserCodec.decode(JSON.stringify(shape)), undefined);
  fc.assert(fc.property(fc.json(), (text) => reviewedUserCodec.decode(text) === undefined));
});
