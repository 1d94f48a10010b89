import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { createOwnAPIRights } from '../../../../src/features/own-api/own-api-rights.ts';
import type { SubjectAccessReviewStatus } from '../../../../src/kubernetes/authorization-v1.ts';
import { type AuthorizedRequest, refusalOf } from '../../../support/authorized.ts';
import { OWN_RESOURCES } from '../../../support/own-api.ts';
import { recordedReviewer } from '../../../support/reviewed.ts';

const EXPLANATIONS = '/apis/stonegate.dev/v1alpha1/explanations';

async function ask(target: string, answer: SubjectAccessReviewStatus | Error, more: AuthorizedRequest = {}) {
  const { reviewer, asked } = recordedReviewer(answer);
  const authorizer = createOwnAPIRights({
    ...{ resources: OWN_RESOURCES, reviewer, reviewTenant: (name) => name },
    isSystem: (name) => name === 'operators',
  });
  return { asked, refusal: await refusalOf(authorizer, target, { method: 'POST', ...more }) };
}

const RIGHT = { verb: 'create', group: 'stonegate.dev', version: 'v1alpha1', resource: 'explanations' };

t.test('the rights of a user of the system tenant are reviewed in that tenant', async (t) => {
  const { asked } = await ask(EXPLANATIONS, { allowed: true }, { tenant: 'operators' });
  t.strictSame(asked, [{ user: 'operators:alice', resourceAttributes: { ...RIGHT, tenant: 'operators' } }]);
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
  const { asked, refusal } = await ask(EXPLANATIONS, { allowed: false, denied: true }, { sender });
  t.match(refusal, { code: 'AccessDenied' });
  t.same(asked, [{ token: 'theirs', home: 'acme', resourceAttributes: RIGHT }]);
});

t.test('a review of who can do something needs its own right, within the tenant', async (t) => {
  const target = '/apis/stonegate.dev/v1alpha1/resourceaccessreviews';
  const { asked, refusal } = await ask(target, { allowed: true });
  t.equal(refusal, undefined);
  const resourceAttributes = { ...RIGHT, resource: 'resourceaccessreviews', tenant: 'acme' };
  t.strictSame(asked, [{ user: 'acme:alice', resourceAttributes }]);
});
