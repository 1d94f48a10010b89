/**
 * A self review is "allowed" if the response would be filtered, so that clients that ask first do list.
 */
import t from 'tap';
import { StatusError } from '../../../../src/errors/status-error.ts';
import {
  createFilteredReview,
  type FilteredReviewOptions,
} from '../../../../src/features/self-reviews/filtered-self-review.ts';
import { createFilteredReason } from '../../../../src/proxy/filtered-reason.ts';
import { createArktosMode } from '../../../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../../../src/tenancy/shared.ts';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import {
  clusterRole,
  clusterRoleBinding,
  namespace,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const VIEWER = clusterRole('viewer', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
const LISTER = clusterRole('lister', [
  { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
]);
const bound = roleBinding('a', 'view', 'ClusterRole/viewer', [user('acme:alice')]);
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

function reviewAt(
  extent: FilteredReviewOptions['extent'],
  site = namespacesSite([namespace('a'), VIEWER, LISTER, bound]),
) {
  const asked: string[] = [];
  const review = createFilteredReview({
    extent,
    filteredReason: createFilteredReason({
      mode: createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
      namespaces: site.filtered,
      async wouldMerge(_outgoing, { resource = '' }) {
        asked.push(resource);
        return true;
      },
    }),
  });
  return {
    site,
    asked,
    review: (attributes: object, name = 'alice') =>
      review(site.outgoing(name, REVIEWS, [], 'POST'), attributes),
  };
}

t.test(
  'D019 list and watch of namespaces are allowed, with a reason that says that they are filtered',
  async (t) => {
    const { review } = reviewAt('namespaces');
    for (const verb of ['list', 'watch'])
      for (const namespace of ['', 'a'])
        t.match(await review({ verb, resource: 'namespaces', namespace }), /filtered/);
    for (const attributes of [
      { verb: 'get', resource: 'namespaces' },
      { verb: 'list', resource: 'namespaces', name: 'a' },
      { verb: 'list', resource: 'namespaces', subresource: 'status' },
      { verb: 'list', resource: 'namespaces', group: 'example.com' },
      { verb: 'list', resource: 'pods' },
      {},
    ])
      t.equal(await review(attributes), undefined, JSON.stringify(attributes));
  },
);

t.test('D140 the review is about the user that the request is made as', async (t) => {
  const lister = clusterRoleBinding('listers', 'ClusterRole/lister', [user('acme:alice')]);
  const { review } = reviewAt('namespaces', namespacesSite([namespace('a'), VIEWER, LISTER, bound, lister]));
  const question = { verb: 'list', resource: 'namespaces' };
  t.equal(await review(question), undefined, 'who may list all is not filtered: the API server answers');
  t.match(await review(question, 'bob'), /filtered/, 'another user is');
});

t.test('`all` extends it to all namespaces of a kind, never to secrets', async (t) => {
  const { review, asked } = reviewAt('all');
  t.match(await review({ verb: 'list', resource: 'pods' }), /filtered/);
  t.equal(await review({ verb: 'list', resource: 'pods', namespace: 'a' }), undefined);
  t.equal(await review({ verb: 'list', resource: 'secrets' }), undefined);
  t.equal(await review({ verb: 'delete', resource: 'pods' }), undefined);
  t.same(asked, ['pods']);
});

/** On Arktos, where users see their own Tenant object. */
function tenantReview(extent: FilteredReviewOptions['extent'], showsOwnTenant = true) {
  const mode = createArktosMode({ systemTenant: 'system', domains: {}, showsOwnTenant });
  const site = namespacesSite([], { tenancy: mode });
  const wouldMerge = async () => false;
  const review = createFilteredReview({
    extent,
    filteredReason: createFilteredReason({ mode, namespaces: site.filtered, wouldMerge }),
  });
  return (attributes: object) => review(site.outgoing('alice', REVIEWS, [], 'POST'), attributes);
}

t.test(
  'on Arktos the list of tenants, and the own tenant by name, are allowed, since they are shown',
  async (t) => {
    for (const extent of ['namespaces', 'all'] as const) {
      const review = tenantReview(extent);
      t.match(await review({ verb: 'list', resource: 'tenants' }), /filtered: it has the user's own tenant/);
      t.match(await review({ verb: 'get', resource: 'tenants', name: 'acme' }), /own tenant/);
      for (const attributes of [
        { verb: 'get', resource: 'tenants', name: 'globex' },
        { verb: 'get', resource: 'tenants' },
        { verb: 'watch', resource: 'tenants' },
        { verb: 'delete', resource: 'tenants', name: 'acme' },
        { verb: 'list', resource: 'tenants', name: 'acme' },
        { verb: 'list', resource: 'tenants', subresource: 'status' },
        { verb: 'list', resource: 'tenants', group: 'example.com' },
      ])
        t.equal(await review(attributes), undefined, JSON.stringify(attributes));
    }
  },
);

t.test('a request for more namespaces than one request may have is not allowed', async (t) => {
  const site = namespacesSite([]);
  const review = createFilteredReview({
    extent: 'all',
    filteredReason: createFilteredReason({
      mode: createSharedMode({ domains: {}, reservedNamePrefixes: [] }),
      namespaces: site.filtered,
      wouldMerge: async () => new StatusError('TooManyNamespaces', 'too many'),
    }),
  });
  const outgoing = site.outgoing('alice', REVIEWS, [], 'POST');
  t.equal(await review(outgoing, { verb: 'list', resource: 'pods' }), undefined);
});
