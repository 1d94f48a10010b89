/** While there are more roles and bindings than the index may hold, requests are forwarded. */
import t from 'tap';
import { sizeOf } from '../../../../src/rbac/index-bound.ts';
import { boundedAccessIndexOf } from '../../../support/access-index.ts';
import { namespacesSiteOf } from '../../../support/namespaces-site.ts';
import { listInto, nextRevision, rbacObject, rbacObjects } from '../../../support/rbac-objects.ts';

const PLACES = rbacObjects('ClusterRole viewer: get namespaces\nNamespace a\nNamespace b');
const OBJECTS = [...PLACES, rbacObject('RoleBinding a/x: ClusterRole/viewer to User acme:alice')];
const SIZE = OBJECTS.reduce((sum, object) => sum + sizeOf(object), 0);

t.test('open watches end without a DELETED event, and lists are filtered again later', async (t) => {
  const site = namespacesSiteOf(boundedAccessIndexOf(SIZE, ...OBJECTS));
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a']);
  const flood = rbacObject('RoleBinding b/flood: ClusterRole/viewer to User acme:mallory');
  site.index.put({ ...flood, revision: nextRevision() });
  t.same(await watch.read(), ['ERROR']);
  t.ok(watch.ended);
  t.equal(await site.get('alice'), undefined, 'the list is forwarded');
  const moved = rbacObject('RoleBinding b/x: ClusterRole/viewer to User acme:alice');
  listInto(site.index, [...PLACES, moved]);
  t.same((await site.get('alice'))?.names, ['b'], 'the list shows the present access');
});
