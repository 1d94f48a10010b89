import t from 'tap';
import { createProcessCache } from '../../../src/cache/process-cache.ts';
import { createCredentialCache } from '../../../src/cache/tiered.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { Credential } from '../../../src/identity/credential.ts';
import {
  createTokenReviewAuthenticator,
  createTokenReviewer,
  type ReviewedTenantRules,
  reviewedUser,
  reviewedUserCodec,
  tenantOfReviewed,
} from '../../../src/identity/token-review.ts';
import type { UserInfo } from '../../../src/kubernetes/authentication-v1.ts';
import type { UpstreamFetcher } from '../../../src/kubernetes/upstream-ports.ts';
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
    async review(token) {
      asked.push(token);
      return answer();
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

t.test('a claim that is no text is no tenant, and does not count as absent', async (t) => {
  t.match(reviewedUser(jwt('{"kubernetes.io/serviceaccount/tenant":["acme"]}'), ROBOT), { tenantClaim: '' });
});

t.test('a token that two parsers could read differently is refused', async (t) => {
  const key = '"kubernetes.io/serviceaccount/tenant"';
  t.equal(reviewedUser(jwt(`{${key}:"acme",${key}:"globex"}`), ROBOT), undefined);
});

t.test('in arktos mode', async (t) => {
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
  for (const name of ['system:serviceaccount:robot', ':zoe', 'zoe', 'ACME:zoe'])
    t.test(`the name ${JSON.stringify(name)} says no tenant`, async (t) => {
      t.equal(tenantOfReviewed(named(name), ordinary), undefined);
      t.equal(tenantOfReviewed(named(name), { ...ordinary, tenant: 'other' }), 'other');
    });
});

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

/** A TokenReview with that status. */
function review(status: unknown, http = 201): Answer {
  return { status: http, body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status } };
}

async function ask({ status = 201, body }: Answer, audiences: string[] = []) {
  const asked: unknown[] = [];
  const fetcher: UpstreamFetcher = {
    async fetch({ account, sender, method, target, body: sent }) {
      asked.push({ account, sender, method, target, body: JSON.parse(String(sent)) });
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      return { status, headers: [], body: Buffer.from(text) };
    },
  };
  const clock = createFakeClock();
  const review = createTokenReviewer({ fetcher, audiences, timeout: 1_000, clock });
  const outcome: unknown = await review('the-token', '192.0.2.1').catch((error: unknown) => error);
  return { outcome, asked, pending: clock.pending };
}

t.test(
  'the TokenReview uses Stonegate’s own credential, and has the audiences if there are any',
  async (t) => {
    const plain = await ask(review({ authenticated: true, user: ROBOT }));
    t.same(plain.asked, [
      {
        account: { kind: 'source', address: '192.0.2.1' },
        sender: { kind: 'stonegate' },
        method: 'POST',
        target: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token: 'the-token' } },
      },
    ]);
    t.same(plain.outcome, ROBOT);
    t.equal(plain.pending, 0, 'no timer is left');
    const meant = await ask(review({ authenticated: true, user: ROBOT, audiences: ['b'] }), ['a', 'b']);
    t.match(meant.asked, [{ body: { spec: { token: 'the-token', audiences: ['a', 'b'] } } }]);
    t.same(meant.outcome, ROBOT);
  },
);

t.test('a user without uid, groups and extra is one too', async (t) => {
  const { outcome } = await ask(review({ authenticated: true, user: { username: 'zoe' } }, 200));
  t.same(outcome, { username: 'zoe', uid: '', groups: [], extra: {} });
});

for (const [what, status, audiences] of [
  ['C111 authenticated is false, and nothing says why', { authenticated: false }, []],
  ['authenticated is absent', { user: ROBOT }, []],
  ['there is an error', { user: {}, error: 'invalid bearer token' }, []],
  ['C152 the audience is another', { authenticated: true, user: ROBOT, audiences: ['c'] }, ['a']],
  ['the API server knows no audiences', { authenticated: true, user: ROBOT }, ['a']],
  ['the user is anonymous', { authenticated: true, user: { username: 'system:anonymous' } }, []],
  [
    'the user is unauthenticated',
    { authenticated: true, user: { username: 'x', groups: ['system:unauthenticated'] } },
    [],
  ],
] as const)
  t.test(`not vouched for: ${what}`, async (t) => {
    t.equal((await ask(review(status), [...audiences])).outcome, undefined);
  });

for (const [what, answer] of [
  ['another kind', { body: { kind: 'Status', status: { authenticated: true, user: ROBOT } } }],
  ['a status of HTTP that is none of an answer', review({ authenticated: true, user: ROBOT }, 202)],
  ['an error of the API server', review({}, 500)],
  ['a yes that is no boolean', review({ authenticated: 'true', user: ROBOT })],
  ['a yes with an error', review({ authenticated: true, user: ROBOT, error: 'webhook failed' })],
  ['a yes without a user', review({ authenticated: true })],
  ['a user without a name', review({ authenticated: true, user: { username: '' } })],
] as const)
  t.test(`a response that is ${what} neither accepts nor refuses the token`, async (t) => {
    const { outcome } = await ask(answer);
    t.match(outcome, { code: 'UpstreamUnavailable', http: 503 });
    t.notMatch(String(outcome instanceof StatusError ? outcome.cause : ''), 'the-token');
  });

t.test('a review that takes too long is given up', async (t) => {
  const clock = createFakeClock();
  const fetcher: UpstreamFetcher = {
    fetch: (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () =>
          reject(new StatusError('UpstreamUnavailable', 'given up', { cause: signal.reason })),
        );
      }),
  };
  const asking = createTokenReviewer({ fetcher, audiences: [], timeout: 1_000, clock })(
    'the-token',
    '192.0.2.1',
  );
  clock.advance(1_000);
  await t.rejects(asking, { code: 'UpstreamUnavailable' });
});
