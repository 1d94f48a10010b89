/** After any changes, the objects of a tenant are found as if they had just been listed. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import type { StoredBinding, StoredObject } from '../../../src/kubernetes/rbac-v1.ts';
import { isBinding, TenantObjects } from '../../../src/rbac/tenant-objects.ts';
import { namespace, rbacObject } from '../../support/rbac-objects.ts';

const RESOURCES = ['namespaces', 'roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'] as const;
const KEYS = ['user:u', 'g', 'user:system:serviceaccount:a:s'];
const PLACES = ['', 'a', 'b'];
const ROLES = PLACES.flatMap((place) => ['x', 'y'].map((name) => ({ namespace: place, name })));

const names = fc.constantFrom('x', 'y');
const places = fc.constantFrom('a', 'b');
const bound = fc
  .tuple(
    fc.constantFrom('Role/x', 'ClusterRole/x', 'ClusterRole/y', 'Group/x'),
    fc.subarray(['User u', 'Group g', 'User u', 'ServiceAccount a/s']),
  )
  .map(([role, subjects]) => `${role} to ${subjects.join(', ') || 'User other'}`);
const lines = fc.oneof(
  fc.tuple(places, names).map(([place, name]) => `Role ${place}/${name}`),
  names.map((name) => `ClusterRole ${name}`),
  fc.tuple(places, names, bound).map(([place, name, rest]) => `RoleBinding ${place}/${name}: ${rest}`),
  fc.tuple(names, bound).map(([name, rest]) => `ClusterRoleBinding ${name}: ${rest}`),
);
const labels = fc.constantFrom({}, { 'stonegate.dev/tenant': 'acme' }, { other: 'label' });
const objects: fc.Arbitrary<StoredObject> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(lines, fc.boolean()).map(([line, large]) => marked(rbacObject(line), large)),
  },
  fc.tuple(names, labels).map(([name, given]) => namespace(name, { labels: given })),
);

function marked(object: StoredObject, isTooLarge: boolean): StoredObject {
  return isTooLarge && object.resource !== 'namespaces' ? { ...object, isTooLarge: true } : object;
}

function keyOf(object: StoredObject): string {
  return `${object.resource} ${'namespace' in object ? object.namespace : ''}/${object.name}`;
}

/** In an order that does not depend on what happened before. */
function sorted(found: Iterable<StoredObject>): readonly string[] {
  return [...found].map((one) => `${keyOf(one)} ${one.uid}`).sort();
}

function contentsOf(read: TenantObjects): unknown {
  const all = RESOURCES.map((resource) => sorted(read.all(resource)));
  const bindings = PLACES.map((place) => sorted(read.bindingsIn(place).values()));
  return [all, bindings, sorted(read.tooLarge), read.isEmpty];
}

function expectedContents(existing: readonly StoredObject[]): unknown {
  const those = (is: (one: StoredObject) => boolean) => sorted(existing.filter(is));
  const all = RESOURCES.map((resource) => those((one) => one.resource === resource));
  const bindings = PLACES.map((place) => those((one) => isBinding(one) && one.namespace === place));
  return [all, bindings, those((one) => 'isTooLarge' in one), existing.length === 0];
}

/** What bindings mean; those of a subject or of a role are in order. */
function meaningOf(read: TenantObjects): unknown {
  const bindings = [...read.all('rolebindings'), ...read.all('clusterrolebindings')].filter(isBinding);
  return {
    bySubject: KEYS.map((key) => read.bindingsOfSubject(key)),
    byRole: ROLES.map((role) => read.bindingsOfRole(role)),
    withoutRole: sorted(read.bindingsWithoutRole()),
    roleOf: new Map(bindings.map((binding) => [keyOf(binding), read.roleOf(binding)])),
  };
}

t.test('whatever happened before, only the objects that exist are found', async () => {
  const steps = fc.array(fc.tuple(objects, fc.boolean()), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (given) => {
      const changed = new TenantObjects();
      const existing = new Map<string, StoredObject>();
      for (const [object, isDeleted] of given) {
        const known = existing.get(keyOf(object));
        if (changed.find(object) !== known) return false;
        const { version } = changed;
        if (!isDeleted) changed.put(object);
        else if (known !== undefined) changed.delete(known);
        if (isDeleted) existing.delete(keyOf(object));
        else existing.set(keyOf(object), object);
        const isSeen = isDeleted ? known !== undefined : isOtherAccess(known, object);
        if (isSeen !== (changed.version !== version)) return false;
      }
      const listed = new TenantObjects();
      for (const object of existing.values()) listed.put(object);
      return (
        isDeepStrictEqual(contentsOf(changed), expectedContents([...existing.values()])) &&
        isDeepStrictEqual(meaningOf(changed), meaningOf(listed))
      );
    }),
  );
});

/** Whether a decision about access may change: not if a namespace of the same tenant does. */
function isOtherAccess(known: StoredObject | undefined, object: StoredObject): boolean {
  if (known?.resource !== 'namespaces' || object.resource !== 'namespaces') return true;
  return known.labels['stonegate.dev/tenant'] !== object.labels['stonegate.dev/tenant'];
}

t.test('a binding is found by its role and by each of its subjects, once', async (t) => {
  const found = new TenantObjects();
  const put = (line: string): StoredBinding => {
    const object = rbacObject(line);
    if (!('subjects' in object)) throw new TypeError(line);
    found.put(object);
    return object;
  };
  const one = put('RoleBinding a/x: Role/x to User u, Group g, User u');
  const other = put('ClusterRoleBinding y: ClusterRole/x to ServiceAccount a/s, User u');
  const odd = put('ClusterRoleBinding z: Role/x to User v');
  t.same(found.bindingsOfSubject('user:u'), [other, one]);
  t.same(found.bindingsOfSubject('user:system:serviceaccount:a:s'), [other]);
  t.same(found.bindingsOfRole({ namespace: 'a', name: 'x' }), [one]);
  t.same(found.bindingsOfRole({ namespace: '', name: 'x' }), [other]);
  t.same([...found.bindingsWithoutRole()], [one, other]);
  const role = rbacObject('Role a/x: get pods');
  found.put(role);
  t.equal(found.roleOf(one), role);
  t.same([...found.bindingsWithoutRole()], [other]);
  t.equal(found.roleOf(odd), undefined, 'a reference that no API server accepts');
});
