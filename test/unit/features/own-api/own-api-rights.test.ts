import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createOwnAPIRights } from '../../../../src/features/own-api/own-api-rights.ts';
import type { SubjectAccessReviewStatus } from '../../../../src/kubernetes/authorization-v1.ts';
import type { Sender } from '../../../../src/kubernetes/upstream-request.ts';
import { runAuthorizers } from '../../../../src/proxy/authorizer.ts';
import { readRequestInfo } from '../../../../src/proxy/request/request-info.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import { askedExchange } from '../../../support/fake-exchange.ts';
import { claimIdentity } from '../../../support/identities.ts';
import { OWN_RESOURCES } from '../../../support/own-api.ts';

const decide = async (...asked: Parameters<typeof runAuthorizers>) => runAuthorizers(...asked);

const EXPLANATIONS = '/apis/stonegate.dev/v1alpha1/explanations';

async function ask(
  target: string,
  answer: SubjectAccessReviewStatus | Error,
  tenant = 'acme',
  sender: Sender = { kind: 'stonegate' },
) {
  const asked: unknown[] = [];
  const authorizer = createOwnAPIRights({
    resources: OWN_RESOURCES,
    reviewTenant: (name) => name,
    isSystem: (name) => name === 'operators',
    reviewer: {
      async review(user, attributes) {
        asked.push({ user: user.username, ...attributes });
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async reviewSelf(token, home, attributes) {
        asked.push({ token, home, ...attributes });
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
  });
  const refusal: unknown = await decide([authorizer], {
    exchange: askedExchange('POST'),
    info: readRequestInfo('POST', target, { hasTenantsInPaths: true }),
    identity: claimIdentity('alice'),
    user: { username: 'alice', uid: '', groups: [], extra: {} },
    tenant: toTenantName(tenant),
    sender,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { asked, refusal };
}

const RIGHT = { verb: 'create', group: 'stonegate.dev', version: 'v1alpha1', resource: 'explanations' };

t.test('the rights of a user of the system tenant are reviewed in that tenant', async (t) => {
  const { asked } = await ask(EXPLANATIONS, { allowed: true }, 'operators');
  t.strictSame(asked, [{ user: 'alice', resourceAttributes: { ...RIGHT, tenant: 'operators' } }]);
});

t.test('if the API server cannot be asked, nothing is allowed', async (t) => {
  const down = new StatusError('UpstreamUnavailable', 'down');
  t.equal((await ask(EXPLANATIONS, down)).refusal, down);
});

t.test('other requests are not reviewed', async (t) => {
  for (const target of [
    '/apis/stonegate.dev/v1alpha1/selfidentity',
    '/apis/stonegate.dev/v1alpha1',
    '/apis/example.com/v1/explanations',
    '/api/v1/pods',
    '/version',
  ])
    t.same(await ask(target, { allowed: false }), { asked: [], refusal: undefined });
});

t.test('a pass-through user is reviewed with their own token, outside every tenant', async (t) => {
  const sender = { kind: 'client', token: 'theirs' } as const;
  const { asked, refusal } = await ask(EXPLANATIONS, { allowed: false, denied: true }, 'acme', sender);
  t.match(refusal, { code: 'AccessDenied' });
  t.same(asked, [{ token: 'theirs', home: 'acme', resourceAttributes: RIGHT }]);
});

const V1 = '/apis/stonegate.dev/v1alpha1';
const REVIEWS = { verb: 'create', group: 'stonegate.dev', version: 'v1alpha1' };

t.test('a review of who can do something needs its own right, within the tenant', async (t) => {
  const { asked, refusal } = await ask(`${V1}/resourceaccessreviews`, { allowed: true });
  t.equal(refusal, undefined);
  t.strictSame(asked, [
    {
      user: 'alice',
      resourceAttributes: { ...REVIEWS, resource: 'resourceaccessreviews', tenant: 'acme' },
    },
  ]);
});
