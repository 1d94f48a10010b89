/** What authorizers beside Node and RBAC allow is learned from the API server. */
import t from 'tap';
import type { SubjectAccessReviewStatus } from '../../../../src/api/authorization-v1.ts';
import { OtherAuthorizers } from '../../../../src/pipeline/rbac/other-authorizers.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../../../src/tenancy/tenancy-mode.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { outgoingOf } from '../../../support/outgoing.ts';

const shared = createSharedMode({ domains: {}, reservedNamePrefixes: [] });
const arktos = createArktosMode({ systemTenant: 'system', domains: {} });
const LIST = { verb: 'list', resource: 'namespaces' };

function siteOf(mode: TenancyMode = shared) {
  const clock = createFakeClock();
  const index = { revision: 1 };
  const reviewed: unknown[] = [];
  let answer: SubjectAccessReviewStatus = { allowed: true };
  const others = new OtherAuthorizers({
    reviewer: {
      async review({ username }, attributes) {
        reviewed.push([username, attributes]);
        return answer;
      },
      reviewSelf: () => Promise.reject(new Error('no user has an own token in this test')),
    },
    mode,
    access: { index },
    clock,
  });
  return {
    clock,
    index,
    reviewed,
    answer(status: SubjectAccessReviewStatus) {
      answer = status;
    },
    allow: (name: string, attributes: object = LIST) =>
      others.allow(outgoingOf(mode, keystoneIdentity(name), { target: '/api/v1/namespaces' }), attributes),
  };
}

t.test('a review counts for its user and request, for a minute, until the index changes', async (t) => {
  const site = siteOf();
  const reviewsOf = async (...asked: Parameters<typeof site.allow>): Promise<number> => {
    const before = site.reviewed.length;
    await site.allow(...asked);
    return site.reviewed.length - before;
  };
  t.equal(await reviewsOf('alice'), 1);
  t.equal(await reviewsOf('alice'), 0);
  t.equal(await reviewsOf('bob'), 1);
  t.equal(await reviewsOf('alice', { verb: 'watch', resource: 'namespaces' }), 1);
  site.clock.advance(59_999);
  t.equal(await reviewsOf('alice'), 0);
  site.clock.advance(1);
  t.equal(await reviewsOf('alice'), 1);
  site.index.revision += 1;
  t.equal(await reviewsOf('alice'), 1);
});

t.test('a refusal counts as long, and a denial is one', async (t) => {
  const site = siteOf();
  site.answer({ allowed: true, denied: true });
  t.equal(await site.allow('alice'), false);
  site.answer({ allowed: true });
  t.equal(await site.allow('alice'), false);
  site.clock.advance(60_000);
  t.equal(await site.allow('alice'), true);
});

t.test('with tenants, the review is about the user’s own, unless the request names one', async (t) => {
  const site = siteOf(arktos);
  await site.allow('alice');
  await site.allow('alice', { ...LIST, tenant: 'globex' });
  t.same(site.reviewed, [
    ['acme:alice', { resourceAttributes: { ...LIST, tenant: 'acme' } }],
    ['acme:alice', { resourceAttributes: { ...LIST, tenant: 'globex' } }],
  ]);
});

t.test('a thousand reviews are cached: those that were made last', async (t) => {
  const site = siteOf();
  for (let at = 0; at <= 1_000; at += 1) await site.allow('alice', { ...LIST, name: `n${at}` });
  await site.allow('alice', { ...LIST, name: 'n1' });
  t.equal(site.reviewed.length, 1_001);
  await site.allow('alice', { ...LIST, name: 'n0' });
  t.equal(site.reviewed.length, 1_002);
});

t.test('if RBAC alone authorizes users, the API server is not asked', async (t) => {
  const others = new OtherAuthorizers({
    reviewer: undefined,
    mode: shared,
    access: { index: { revision: 1 } },
    clock: createFakeClock(),
  });
  const outgoing = outgoingOf(shared, keystoneIdentity('alice'), { target: '/api/v1/namespaces' });
  t.equal(await others.allow(outgoing, LIST), false);
});
