import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createTokenReviewClient } from '../../../src/identity/token-reviewer.ts';
import type { UpstreamFetcher } from '../../../src/kubernetes/upstream-ports.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const USER = {
  username: 'system:serviceaccount:default:robot',
  uid: 'u-1',
  groups: ['g'],
  extra: { k: ['v'] },
};

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
  const reviewer = createTokenReviewClient({ fetcher, audiences, timeout: 1_000, clock });
  const outcome: unknown = await reviewer.review('the-token', '192.0.2.1').catch((error: unknown) => error);
  return { outcome, asked, pending: clock.pending };
}

t.test(
  'the TokenReview uses Stonegate’s own credential, and has the audiences if there are any',
  async (t) => {
    const plain = await ask(review({ authenticated: true, user: USER }));
    t.same(plain.asked, [
      {
        account: { kind: 'source', address: '192.0.2.1' },
        sender: { kind: 'stonegate' },
        method: 'POST',
        target: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token: 'the-token' } },
      },
    ]);
    t.same(plain.outcome, USER);
    t.equal(plain.pending, 0, 'no timer is left');
    const meant = await ask(review({ authenticated: true, user: USER, audiences: ['b'] }), ['a', 'b']);
    t.match(meant.asked, [{ body: { spec: { token: 'the-token', audiences: ['a', 'b'] } } }]);
    t.same(meant.outcome, USER);
  },
);

t.test('a user without uid, groups and extra is one too', async (t) => {
  const { outcome } = await ask(review({ authenticated: true, user: { username: 'zoe' } }, 200));
  t.same(outcome, { username: 'zoe', uid: '', groups: [], extra: {} });
});

for (const [what, status, audiences] of [
  ['C111 authenticated is false, and nothing says why', { authenticated: false }, []],
  ['authenticated is absent', { user: USER }, []],
  ['there is an error', { user: {}, error: 'invalid bearer token' }, []],
  ['C152 the audience is another', { authenticated: true, user: USER, audiences: ['c'] }, ['a']],
  ['the API server knows no audiences', { authenticated: true, user: USER }, ['a']],
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
  ['no JSON', { body: '<html>' }],
  ['a list', { body: [] }],
  ['another kind', { body: { kind: 'Status', status: { authenticated: true, user: USER } } }],
  ['a status of HTTP that is none of an answer', review({ authenticated: true, user: USER }, 202)],
  ['a redirect', review({ authenticated: true, user: USER }, 307)],
  ['an error of the API server', review({}, 500)],
  ['no status', { body: { kind: 'TokenReview' } }],
  ['a yes that is no boolean', review({ authenticated: 'true', user: USER })],
  ['a yes with an error', review({ authenticated: true, user: USER, error: 'webhook failed' })],
  ['a yes without a user', review({ authenticated: true })],
  ['a user without a name', review({ authenticated: true, user: { username: '' } })],
  ['a name that is no text', review({ authenticated: true, user: { username: 1 } })],
  ['groups that are no texts', review({ authenticated: true, user: { username: 'zoe', groups: [1] } })],
  ['an extra that is no list', review({ authenticated: true, user: { username: 'zoe', extra: { k: 'v' } } })],
] as const)
  t.test(`a response that is ${what} neither accepts nor refuses the token`, async (t) => {
    const { outcome } = await ask(answer);
    t.match(outcome, { code: 'UpstreamUnavailable', http: 503 });
    t.notMatch(String(outcome instanceof StatusError ? outcome.cause : ''), 'the-token');
  });

t.test('the error names the missing right if Stonegate may not create token reviews', async (t) => {
  const { outcome } = await ask({ status: 403, body: { kind: 'Status' } });
  t.match(outcome, {
    code: 'UpstreamRefusedCredential',
    message: /create tokenreviews; .*`stonegate manifests rbac --config FILE`/,
  });
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
  const asking = createTokenReviewClient({ fetcher, audiences: [], timeout: 1_000, clock }).review(
    'the-token',
    '192.0.2.1',
  );
  clock.advance(1_000);
  await t.rejects(asking, { code: 'UpstreamUnavailable' });
});
