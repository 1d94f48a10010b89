import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createAccessReviewer } from '../../../src/kubernetes/access-reviewer.ts';
import { createApiServerProbe } from '../../../src/kubernetes/api-server-probe.ts';
import type { UpstreamFetcher, UpstreamResponse } from '../../../src/kubernetes/upstream-ports.ts';
import type { Account } from '../../../src/kubernetes/upstream-request.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { toTenantName } from '../../../src/tenancy/tenant-name.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const ACCOUNT = { kind: 'tenant', tenant: toTenantName('acme') } as const;
const SIGNAL = new AbortController().signal;
const ALICE = { username: 'acme:alice', uid: '', groups: ['system:authenticated'], extra: {} };
const LIST_PODS = {
  resourceAttributes: { tenant: toTenantName('acme'), namespace: 'default', verb: 'list', resource: 'pods' },
};

function answer(status: number, body: unknown) {
  return { status, headers: [], body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
}

function review(status: unknown) {
  return answer(201, {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: {},
    status,
  });
}

/** A fetcher that returns these responses in turn, repeats the last one, and records the requests. */
function fetcherOf(...answers: (UpstreamResponse | Error)[]) {
  const asked: { account: Account; target: string; method: string; body: unknown }[] = [];
  const fetcher: UpstreamFetcher = {
    async fetch({ account, target, method, body }) {
      asked.push({
        account,
        target,
        method,
        body: body === undefined ? undefined : JSON.parse(String(body)),
      });
      const next = answers.length > 1 ? answers.shift() : answers[0];
      if (next === undefined || next instanceof Error) throw next;
      return next;
    },
  };
  return { fetcher, asked };
}

function reviewerOf(...answers: (UpstreamResponse | Error)[]) {
  const { fetcher, asked } = fetcherOf(...answers);
  const path = (tenant: string | undefined) =>
    `/apis/authorization.k8s.io/v1/${tenant === undefined ? '' : `tenants/${tenant}/`}subjectaccessreviews`;
  return { reviewer: createAccessReviewer({ fetcher, path }), asked };
}

const reviewed = (...answers: (UpstreamResponse | Error)[]) =>
  reviewerOf(...answers).reviewer.review(ALICE, LIST_PODS, ACCOUNT, SIGNAL);

t.test('an access review', async (t) => {
  t.test('is posted in the tenant that it concerns, in the form of the API', async (t) => {
    const { reviewer, asked } = reviewerOf(review({ allowed: true, reason: 'RBAC: allowed by …' }));
    const status = await reviewer.review(ALICE, LIST_PODS, ACCOUNT, SIGNAL);
    t.same(status, { allowed: true, reason: 'RBAC: allowed by …' });
    t.same(asked, [
      {
        account: ACCOUNT,
        method: 'POST',
        target: '/apis/authorization.k8s.io/v1/tenants/acme/subjectaccessreviews',
        body: {
          kind: 'SubjectAccessReview',
          apiVersion: 'authorization.k8s.io/v1',
          spec: { user: 'acme:alice', groups: ['system:authenticated'], ...LIST_PODS },
        },
      },
    ]);
  });

  t.test('has uid and extra if there are any, and a path instead of a resource', async (t) => {
    const { reviewer, asked } = reviewerOf(review({ allowed: false }));
    const user = { ...ALICE, uid: 'u1', extra: { 'example.com/key': ['a', 'b'] } };
    const nonResourceAttributes = { path: '/metrics', verb: 'get' };
    t.same(await reviewer.review(user, { nonResourceAttributes }, ACCOUNT, SIGNAL), { allowed: false });
    t.match(asked, [
      {
        target: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: { spec: { uid: 'u1', extra: { 'example.com/key': ['a', 'b'] }, nonResourceAttributes } },
      },
    ]);
  });

  t.test('C142 both allowed and denied is denied', async (t) =>
    t.same(await reviewed(review({ allowed: true, denied: true, evaluationError: 'half broken' })), {
      allowed: false,
      denied: true,
      evaluationError: 'half broken',
    }),
  );

  t.test('D139 with fields of a later release is neither an approval nor a denial', async (t) => {
    const conditional = { allowed: false, conditionSetChain: [{ conditions: [] }] };
    t.same(await reviewed(review(conditional)), {
      allowed: false,
      unknownFields: ['conditionSetChain'],
    });
    for (const certain of [
      { allowed: true, other: 1 },
      { allowed: false, denied: true, other: 1 },
    ])
      t.notHas(await reviewed(review(certain)), { unknownFields: ['other'] });
  });

  t.test('C027 that fails never allows the request', async (t) => {
    await t.rejects(reviewed(new StatusError('UpstreamTimeout', 'late')), { code: 'UpstreamTimeout' });
  });

  t.test('the error names the missing right if Stonegate may not create reviews', async (t) => {
    await t.rejects(reviewed(answer(403, { kind: 'Status' })), {
      code: 'UpstreamRefusedCredential',
      message: /create subjectaccessreviews; .*`stonegate manifests rbac --config FILE`/,
    });
  });

  for (const [name, unusable] of Object.entries({
    'no JSON': answer(201, '<html>'),
    'another kind': answer(201, { kind: 'Status', status: { allowed: true } }),
    'no status': answer(201, { kind: 'SubjectAccessReview' }),
    'allowed as a string': review({ allowed: 'true' }),
    'neither an approval nor a denial': review({}),
    'a denial as a string': review({ allowed: true, denied: 'false' }),
    'an error that says allowed': { ...review({ allowed: true }), status: 500 },
  }))
    t.test(`C027 a response of ${name} never allows`, async (t) => {
      await t.rejects(reviewed(unusable), { code: 'UpstreamUnavailable' });
    });
});

t.test('the probe of the API server', async (t) => {
  function probeOf(...answers: (UpstreamResponse | Error)[]) {
    const clock = createFakeClock(0);
    const { fetcher, asked } = fetcherOf(...answers);
    const messages: string[] = [];
    const note = (_fields: object, message: string) => void messages.push(message);
    const logger = { ...silentLogger, info: note, warn: note };
    const probe = createApiServerProbe({
      fetcher: () => fetcher,
      clock,
      logger,
      onReady: () => undefined,
      interval: 1000,
    });
    return { probe, clock, asked, messages };
  }
  const down = new StatusError('UpstreamUnavailable', 'the API server cannot be reached at the moment');

  t.test('is not ready before the first probe', async (t) =>
    t.equal(probeOf(answer(200, {})).probe.notReadyBecause(), 'not asked yet'),
  );

  for (const [name, given, expected] of [
    ['a server that cannot be reached', down, down.message],
    ['another status', answer(500, ''), 'GET /version was answered with 500'],
    ['an unexpected error', new Error('secret'), 'the API server could not be asked'],
  ] as const)
    t.test(`says why the API server is not ready after ${name}`, async (t) => {
      const { probe } = probeOf(given);
      await probe.probe();
      t.equal(probe.notReadyBecause(), expected);
    });

  t.test('is repeated after the interval, logs each change once, and can be stopped', async (t) => {
    const { probe, clock, asked, messages } = probeOf(down, down, answer(200, {}));
    probe.start();
    for (const round of [1, 2, 3]) {
      await eventually(() => asked.length === round && clock.pending === 1);
      if (round < 3) clock.advance(1000);
    }
    t.equal(probe.notReadyBecause(), undefined);
    t.match(asked, [{ method: 'GET', target: '/version' }]);
    t.same(messages, ['the API server is not ready', 'the API server is ready']);
    probe.stop();
    t.equal(clock.pending, 0);
  });
});

t.test('a self review', async (t) => {
  const own = (status: unknown) =>
    answer(201, { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', status });
  const home = toTenantName('acme');

  t.test('is sent with the client’s own token, in the client’s tenant', async (t) => {
    const senders: unknown[] = [];
    const fetcher: UpstreamFetcher = {
      async fetch({ sender, target, body }) {
        senders.push({ sender, target, body: JSON.parse(String(body)) });
        return own({ allowed: true });
      },
    };
    const path = (tenant: string | undefined, resource: string) => `/${tenant}/${resource}`;
    const reviewer = createAccessReviewer({ fetcher, path });
    t.same(await reviewer.reviewSelf('theirs', home, LIST_PODS, ACCOUNT, SIGNAL), { allowed: true });
    t.same(senders, [
      {
        sender: { kind: 'client', token: 'theirs' },
        target: '/acme/selfsubjectaccessreviews',
        body: { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec: LIST_PODS },
      },
    ]);
  });
  t.test(
    'denies if the client may not create reviews, and fails with 401 if its token is no longer accepted',
    async (t) => {
      const forbidden = reviewerOf(answer(403, {})).reviewer;
      t.match(await forbidden.reviewSelf('theirs', home, LIST_PODS, ACCOUNT, SIGNAL), { allowed: false });
      const refused = reviewerOf(answer(401, {})).reviewer;
      await t.rejects(refused.reviewSelf('theirs', home, LIST_PODS, ACCOUNT, SIGNAL), {
        code: 'CredentialInvalid',
      });
    },
  );
  t.test('a response of another kind never allows', async (t) => {
    const { reviewer } = reviewerOf(review({ allowed: true }));
    await t.rejects(reviewer.reviewSelf('theirs', home, LIST_PODS, ACCOUNT, SIGNAL), {
      code: 'UpstreamUnavailable',
    });
  });
});
