import t from 'tap';
import { SubjectFilter } from '../../../src/proxy/subject-owner.ts';
import { keysOfBinding } from '../../../src/rbac/subject-key.ts';
import { indexOf, namespace, roleBinding, serviceAccount } from '../../support/rbac-objects.ts';

t.test('the viewer’s rights in a namespace are looked up once for all of its service accounts', (t) => {
  const accounts = Array.from({ length: 100 }, (_, at) => serviceAccount(`bot${at}`));
  const binding = roleBinding('web', 'bots', 'ClusterRole/view', accounts);
  const index = indexOf(namespace('web'), binding);
  const viewer = {
    user: { tenant: '', username: 'acme:alice', groups: [] },
    tenant: 'acme',
    isSystem: false,
    domainID: undefined,
    namePrefix: 'acme:',
  };
  const filter = new SubjectFilter(viewer, { index, isCurrent: true, scopes: undefined });
  const lookups = t.capture(index, 'objectsOf', index.objectsOf);
  for (const key of keysOfBinding(binding)) t.equal(filter.shows({ key, binding }), false);
  // May the viewer get the namespace, and list the bindings in it?
  t.equal(lookups().length, 2);
  t.end();
});
