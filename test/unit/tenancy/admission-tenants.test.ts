/** To whom an object under admission belongs, and where the rights of its user are reviewed. */
import t from 'tap';
import { parse } from 'yaml';
import { createTenantAdmission } from '../../../src/tenancy/admission-tenants.ts';
import { TENANCY_FACTS } from '../../../src/tenancy/facts.ts';
import { admissionRequest } from '../../support/admission-reviews.ts';
import { eachRow } from '../../support/rows.ts';

const accounts = { users: ['stonegate'], namespaces: [] };
const arktos = createTenantAdmission({ facts: TENANCY_FACTS.arktos, systemTenant: 'root' }, accounts);

/** @param what such as `CREATE pods/binding` or `UPDATE widgets.example.com` */
function requestOf(user: string, what: string, metadata = '{}', stored = '-') {
  const [, operation = '', resource = '', group = '', subresource = ''] =
    /^(\w+) (\w+)(?:\.([\w.]+))?(?:\/(\w+))?$/.exec(what) ?? [];
  if (operation !== 'CREATE' && operation !== 'UPDATE' && operation !== 'DELETE') throw new TypeError(what);
  return admissionRequest({
    ...{ operation, group, resource, subresource },
    user: { username: user.replace(/^sa:/, 'system:serviceaccount:'), groups: [] },
    object: { metadata: parse(metadata) },
    oldObject: stored === '-' ? undefined : { metadata: parse(stored) },
  });
}

t.test('on Arktos an object is of the tenant that Arktos has checked, or else of its user’s', (t) =>
  /**
   * A user (`sa:` is a service account), a write, the object's metadata, the stored metadata; then whose the
   * object is, whether a tenant or the system writes it, and in which tenant the user's rights are reviewed.
   */
  eachRow(
    `
    acme:alice            | CREATE pods                 | {tenant: globex} | -              | globex  | tenant | globex
    acme:alice            | UPDATE pods                 | {}               | {tenant: acme} | acme    | tenant | acme
    acme:alice            | CREATE pods                 | {tenant: root}   | -              | acme    | tenant | acme
    acme:alice            | UPDATE pods                 | {tenant: root}   | {tenant: root} | acme    | tenant | acme
    acme:alice            | CREATE nodes                | {tenant: globex} | -              | acme    | tenant | acme
    acme:alice            | CREATE pods                 | {tenant: A.b}    | -              | A.b     | tenant | -
    alice                 | CREATE pods                 | {tenant: ''}     | -              | unknown | tenant | -
    root:stonegate:dora   | CREATE pods                 | {tenant: acme}   | -              | acme    | system | acme
    root:stonegate:dora   | CREATE pods                 | {tenant: root}   | -              | root    | system | root
    root:stonegate:dora   | CREATE nodes                | {tenant: acme}   | -              | none    | system | root
    system:kube-scheduler | CREATE pods/binding         | {}               | -              | none    | system | root
    stonegate             | CREATE pods                 | {}               | -              | none    | system | root
    sa:web:app            | CREATE pods                 | {tenant: acme}   | -              | acme    | tenant | -
    sa:web:app            | CREATE pods                 | {tenant: root}   | -              | root    | system | root
    sa:web:app            | CREATE bindings.example.com | {tenant: root}   | -              | root    | system | root
    sa:web:app            | UPDATE pods/status          | {}               | {tenant: root} | root    | system | root
    sa:web:app            | UPDATE pods                 | {tenant: root}   | {}             | unknown | tenant | -
    sa:web:app            | CREATE pods/binding         | {tenant: root}   | -              | unknown | tenant | -
    sa:web:app            | CREATE bindings             | {tenant: root}   | -              | unknown | tenant | -
    sa:web:app            | CREATE nodes                | {tenant: root}   | -              | unknown | tenant | -`,
    (user, what, object, stored, owner, by, reviewedIn) => {
      const request = requestOf(user ?? '', what ?? '', object, stored);
      const { isTenants, byTenant, tenant } = arktos.reviewedTenant(request);
      const place = arktos.reviewPlace(request);
      t.same(
        [tenant ?? (isTenants ? 'unknown' : 'none'), byTenant ? 'tenant' : 'system', place?.tenant ?? '-'],
        [owner, by, reviewedIn],
        `${user} ${what} ${object}`,
      );
    },
  ),
);

t.test(
  'an account of the system’s controllers may do what its controller must do, in kube-system alone',
  (t) =>
    /** A controller, what it must do, what it must do while the object is being deleted, and other writes. */
    eachRow(
      `
      node-controller           | UPDATE nodes, DELETE nodes | - | CREATE nodes, UPDATE pods
      node-ipam-controller      | UPDATE nodes               | - | DELETE nodes
      ttl-controller            | UPDATE nodes               | - | DELETE nodes
      namespace-controller      | DELETE pods                | - | UPDATE pods, DELETE nodes, UPDATE tenants
      generic-garbage-collector | DELETE deployments.apps    | - | CREATE deployments.apps
      tenant-controller         | DELETE pods                | UPDATE tenants, DELETE tenants | UPDATE pods
      replicaset-controller     | -                          | - | CREATE pods, DELETE pods, UPDATE nodes`,
      (name, needed = '', onDeletion = '', others = '') => {
        const writes = (cell: string) => (cell === '-' ? [] : cell.split(', '));
        const isTenants = (namespace: string, what: string, stored = '{deletionTimestamp: now}') =>
          arktos.reviewedTenant(requestOf(`sa:${namespace}:${name}`, what, '{}', stored)).byTenant;
        for (const what of [...writes(needed), ...writes(onDeletion)]) {
          t.notOk(isTenants('kube-system', what), `${name} ${what}`);
          t.ok(isTenants('web', what), `${what} by an account of that name in another namespace`);
        }
        for (const what of writes(needed)) t.notOk(isTenants('kube-system', what, '{}'), `${name} ${what}`);
        for (const what of writes(onDeletion))
          t.ok(isTenants('kube-system', what, '{}'), `${name} ${what} of what is not being deleted`);
        for (const what of writes(others)) t.ok(isTenants('kube-system', what), `${name} ${what}`);
      },
    ),
);
