import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { Credential } from '../../../src/identity/credential.ts';
import {
  createTokenReviewAuthenticator,
  createTokenReviewer,
  reviewedUser,
  tenantOfReviewed,
} from '../../../src/identity/token-review.ts';
import type { UpstreamFetcher } from '../../../src/kubernetes/upstream-ports.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

t.test('other kinds of credentials are left to other authenticators', async (t) => {
  const lookup = () => Promise.reject(new Error('the API server was asked'));
  const authenticator = createTokenReviewAuthenticator({
    review: lookup,
    cache: { lookup, forget: lookup },
    gate: { enter: lookup },
    rules: { tenant: 'acme' },
    clock: createFakeClock(),
    tagsOf: () => [],
  });
  const others: Credential[] = [
    { kind: 'x-auth-token', token: 'opaque' },
    { kind: 'basic', userName: 'zoe', password: 'p' },
  ];
  for (const credential of others)
    t.equal(authenticator.authenticate(credential, { source: '192.0.2.1' }), undefined);
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

/** A JWT with this payload. */
function jwt(payload: string) {
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  return `${encoded('{"alg":"RS256"}')}.${encoded(payload)}.c2ln`;
}

t.test('a token’s tenant and expiry are cached with its user', async (t) => {
  const token = jwt('{"exp":100,"kubernetes.io/serviceaccount/tenant":"acme"}');
  t.same(reviewedUser(token, ROBOT), { user: ROBOT, expiresAt: 100_000, tenantClaim: 'acme' });
});

t.test('a tenant claim that is not a string names no tenant, and does not count as absent', async (t) =>
  t.match(reviewedUser(jwt('{"kubernetes.io/serviceaccount/tenant":["acme"]}'), ROBOT), { tenantClaim: '' }),
);

t.test('a token that two parsers could read differently is refused', async (t) => {
  const key = '"kubernetes.io/serviceaccount/tenant"';
  t.equal(reviewedUser(jwt(`{${key}:"acme",${key}:"globex"}`), ROBOT), undefined);
});

t.test('in arktos mode', async (t) => {
  t.test(
    'a service account without a tenant claim belongs to the configured tenant, or to none',
    async (t) => {
      t.equal(tenantOfReviewed({ user: ROBOT }, { ...ordinary, tenant: 'other' }), 'other');
      t.equal(tenantOfReviewed({ user: ROBOT }, ordinary), undefined);
    },
  );
  t.test(
    'any other user belongs to the tenant that begins their name, whatever the token claims',
    async (t) => t.equal(tenantOfReviewed({ ...named('acme:zoe'), tenantClaim: 'globex' }, ordinary), 'acme'),
  );
  for (const name of ['system:serviceaccount:robot', ':zoe', 'zoe', 'ACME:zoe'])
    t.test(`the name ${JSON.stringify(name)} names no tenant`, async (t) => {
      t.equal(tenantOfReviewed(named(name), ordinary), undefined);
      t.equal(tenantOfReviewed(named(name), { ...ordinary, tenant: 'other' }), 'other');
    });
});

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

/** A response with a TokenReview of this status. */
function review(status: unknown, http = 201) {
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
  'the TokenReview is sent with Stonegate’s own credential, and with the configured audiences',
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

t.test('a user without uid, groups and extra is accepted', async (t) => {
  const { outcome } = await ask(review({ authenticated: true, user: { username: 'zoe' } }, 200));
  t.same(outcome, { username: 'zoe', uid: '', groups: [], extra: {} });
});

for (const [what, status, audiences] of [
  ['C111 authenticated is false without a reason', { authenticated: false }, []],
  ['authenticated is absent', { user: ROBOT }, []],
  ['there is an error', { user: {}, error: 'invalid bearer token' }, []],
  ['C152 the audience is a different one', { authenticated: true, user: ROBOT, audiences: ['c'] }, ['a']],
  ['the API server knows no audiences', { authenticated: true, user: ROBOT }, ['a']],
  ['the user is anonymous', { authenticated: true, user: { username: 'system:anonymous' } }, []],
  [
    'the user is unauthenticated',
    { authenticated: true, user: { username: 'x', groups: ['system:unauthenticated'] } },
    [],
  ],
] as const)
  t.test(`a token is refused if the review says: ${what}`, async (t) =>
    t.equal((await ask(review(status), [...audiences])).outcome, undefined),
  );

for (const [what, answer] of [
  ['another kind', { body: { kind: 'Status', status: { authenticated: true, user: ROBOT } } }],
  ['an unexpected HTTP status', review({ authenticated: true, user: ROBOT }, 202)],
  ['an error of the API server', review({}, 500)],
  ['an authenticated that is not a boolean', review({ authenticated: 'true', user: ROBOT })],
  ['authenticated with an error', review({ authenticated: true, user: ROBOT, error: 'webhook failed' })],
  ['authenticated without a user', review({ authenticated: true })],
  ['authenticated with a user without a name', review({ authenticated: true, user: { username: '' } })],
] as const)
  t.test(`a token is neither accepted nor refused after ${what}`, async (t) => {
    const { outcome } = await ask(answer);
    t.match(outcome, { code: 'UpstreamUnavailable', http: 503 });
    t.notMatch(String(outcome instanceof StatusError ? outcome.cause : ''), 'the-token');
  });

t.test('a review that takes too long is cancelled', async (t) => {
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
