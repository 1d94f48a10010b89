/** What the API server is asked for the comparison with the RBAC index, and what counts as its answer. */
import t from 'tap';
import { createVerificationSource } from '../../../../src/features/rbac-index/verification-source.ts';
import type { AccessAttributes, ReviewedStatus } from '../../../../src/kubernetes/access-reviewer.ts';
import type { Account } from '../../../../src/kubernetes/upstream-request.ts';
import { question, rbacUser } from '../../../support/rbac-objects.ts';

const { signal } = new AbortController();
const alice = rbacUser('acme:alice', ['staff'], 'acme');

function site(status: ReviewedStatus, hasTenants = false) {
  const reviewed: [AccessAttributes, Account][] = [];
  const source = createVerificationSource({
    hasTenants,
    reviewer: {
      async review(_user, attributes, account) {
        reviewed.push([attributes, account]);
        return status;
      },
    },
  });
  return { source, reviewed };
}

t.test("a review is charged to Stonegate's own account", async (t) => {
  const { source, reviewed } = site({ allowed: true });
  const asked = question('get', 'pods/log', 'web', { apiGroup: 'apps', name: 'x', tenant: 'acme' });
  t.equal(await source.review(alice, asked, signal), 'allowed');
  await source.review(alice, { verb: 'get', path: '/metrics' }, signal);
  await source.review(alice, question('list', 'nodes'), signal);
  const named = {
    verb: 'get',
    group: 'apps',
    resource: 'pods',
    subresource: 'log',
    namespace: 'web',
    name: 'x',
  };
  const nodes = { verb: 'list', group: '', resource: 'nodes', subresource: '', namespace: '', name: '' };
  const own = { kind: 'stonegate' };
  t.same(reviewed, [
    [{ resourceAttributes: { ...named, tenant: 'acme' } }, own],
    [{ nonResourceAttributes: { verb: 'get', path: '/metrics' } }, own],
    [{ resourceAttributes: nodes }, own],
  ]);
});

t.test('D139: an answer is yes, no, or unknown', async (t) => {
  const asked = question('get', 'pods');
  t.equal(await site({ allowed: false }).source.review(alice, asked, signal), 'notAllowed');
  const denied = { allowed: false, denied: true };
  t.equal(await site(denied).source.review(alice, asked, signal), 'denied');
  t.equal(await site(denied, true).source.review(alice, asked, signal), 'notAllowed');
  const later = site({ allowed: false, unknownFields: ['conditions'] });
  t.equal(await later.source.review(alice, asked, signal), 'unknown');
});
