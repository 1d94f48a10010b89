import t from 'tap';
import { INDEXED_RESOURCES } from '../../../src/kubernetes/rbac-v1.ts';
import { STALE_AFTER } from '../../../src/rbac/access-index.ts';
import { accessIndexOf, unsyncedAccessIndex } from '../../support/access-index.ts';
import { nextRevision } from '../../support/rbac-objects.ts';

t.test('an index is not synced until each resource has been listed', async (t) => {
  const { access, index, prove } = unsyncedAccessIndex();
  t.equal(access.state(''), 'notSynced');
  t.equal(
    access.incompleteReason('', 'all'),
    "the API server's namespaces, roles, clusterroles, rolebindings, clusterrolebindings have not been listed yet",
  );
  for (const resource of INDEXED_RESOURCES) index.replace(resource, [], nextRevision());
  prove();
  t.equal(access.state(''), 'current');
  t.equal(access.incompleteReason('', 'all'), undefined);
});

t.test(
  'an index is stale if one resource shows no progress for over five minutes, and recovers',
  async (t) => {
    const { access, clock, prove } = accessIndexOf();
    clock.advance(STALE_AFTER);
    t.equal(access.state(''), 'current');
    prove(INDEXED_RESOURCES.filter((resource) => resource !== 'roles'));
    clock.advance(1);
    t.equal(access.state(''), 'stale');
    t.equal(
      access.incompleteReason('', 'all'),
      'the API server has sent no news of its roles for over 5 minutes',
    );
    prove(['roles']);
    t.equal(access.state(''), 'current');
  },
);
