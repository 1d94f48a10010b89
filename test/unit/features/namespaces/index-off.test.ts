/** While there are more roles and bindings than the index may hold, requests are forwarded. */
import t from 'tap';
import { sizeOf } from '../../../../src/rbac/index-bound.ts';
import { boundedAccessIndexOf } from '../../../support/access-index.ts';
import { namespacesSiteOf } from '../../../support/namespaces-site.ts';
import {
  clusterRole,
  listInto,
  namespace,
  nextRevision,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const VIEWER = clusterRole('viewer', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
const OBJECTS = [
  VIEWER,
  ...['a', 'b'].map((name) => namespace(name)),
  roleBinding('a', 'x', 'ClusterRole/viewer', [user('acme:alice')]),
];
const SIZE = OBJECTS.reduce((sum, object) => sum + sizeOf(object), 0);

t.test('open watches end without a DELETED event, and lists are filtered again later', async (t) => {
  const site = namespacesSiteOf(boundedAccessIndexOf(SIZE, ...OBJECTS));
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a']);
  const flood = roleBinding('b', 'flood', 'ClusterRole/viewer', [user('acme:mallory')]);
  site.index.put({ ...flood, revision: nextRevision() });
  t.same(await watch.read(), ['ERROR']);
  t.ok(watch.ended);
  t.equal(await site.get('alice'), undefined, 'the list is forwarded');
  listInto(site.index, [
    ...OBJECTS.slice(0, -1),
    roleBinding('b', 'x', 'ClusterRole/viewer', [user('acme:alice')]),
  ]);
  t.same((await site.get('alice'))?.names, ['b'], 'the list shows the present access');
});
