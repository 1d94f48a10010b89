/**
 * The members of a namespace agree with the decisions of the RBAC index. The API tells users who may not see
 * a namespace nothing about it.
 */
import fc from 'fast-check';
import t from 'tap';
import { memberID, membersIn } from '../../src/features/members/members.ts';
import { createMembersService } from '../../src/features/members/members-service.ts';
import { allows } from '../../src/rbac/decide.ts';
import { isAllowedIn, visibleNamespaces } from '../../src/rbac/enumerate.ts';
import { subjectOfKey } from '../../src/rbac/subject-key.ts';
import { NO_TENANT } from '../../src/tenancy/tenant-name.ts';
import { accessIndexOf } from '../support/access-index.ts';
import { openMode } from '../support/fake-pipeline.ts';
import { keystoneIdentity } from '../support/identities.ts';
import { rbacObjects, subjects } from '../support/random-rbac.ts';
import { indexOf, question, rbacUser } from '../support/rbac-objects.ts';

const teams = { groupsOf: () => [], teamsOf: () => [] };
const CREATE_BINDINGS = { apiGroup: 'rbac.authorization.k8s.io' };

t.test('the members of a namespace and their rights agree with the decisions of RBAC', async () => {
  fc.assert(
    fc.property(rbacObjects, fc.constantFrom('a', 'b', 'c'), (objects, namespace) => {
      const index = indexOf(...objects);
      const place = { namespace, tenant: NO_TENANT, namesHaveTenant: false, teams };
      const members = membersIn(index.objectsOf(''), place);
      for (const { key, owner, grants } of members) {
        const { kind, name } = subjectOfKey(key);
        const user = kind === 'user' ? rbacUser(name) : rbacUser('no one', [name]);
        if (owner !== allows(index, user, question('create', 'rolebindings', namespace, CREATE_BINDINGS)))
          throw new Error(`${key} is wrongly listed as ${owner ? 'an' : 'no'} owner`);
        if (grants.length === 0) throw new Error(`${key} has no grant`);
      }
      const shown = new Set(members.map(({ key }) => key));
      for (const name of ['u1', 'u2']) {
        const get = question('get', 'namespaces', namespace, { name: namespace });
        if (allows(index, rbacUser(name), get) && !shown.has(`user:${name}`))
          throw new Error(`${name} sees the namespace but is not a member`);
      }
    }),
  );
});

t.test('a user who may not get a namespace cannot tell it from one that does not exist', async () => {
  await fc.assert(
    fc.asyncProperty(
      rbacObjects,
      subjects,
      fc.constantFrom('a', 'b', 'c'),
      async (objects, subject, namespace) => {
        const { access, index, clock } = accessIndexOf(...objects);
        const requests = {
          subjectOf: async () => subject,
          send: () => Promise.reject(new Error('was sent')),
        };
        const service = createMembersService({
          access,
          mode: openMode,
          requests,
          teams,
          keystone: undefined,
          clock,
        });
        const listed = (name: string) =>
          service.list(keystoneIdentity('u1'), name).then(
            ({ result }) => result.length,
            (error: unknown) => String(error).replace(JSON.stringify(name), 'NAME'),
          );
        const user = subject.namespaces.get(namespace) ?? subject.other;
        const isVisible = isAllowedIn(index, user, visibleNamespaces(''), namespace, 'visible');
        const answer = await listed(namespace);
        if (isVisible) return typeof answer === 'number';
        return answer === (await listed('nowhere'));
      },
    ),
  );
});

t.test('different members have different object names, and each is a valid Kubernetes name', async () => {
  const name = fc.record({
    type: fc.constantFrom('User' as const, 'Group' as const, 'Team' as const),
    name: fc.string({ minLength: 1 }),
  });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const isSame = one.type === other.type && one.name === other.name;
      const [id, otherID] = [memberID(one), memberID(other)];
      return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(id) && (id === otherID) === isSame;
    }),
  );
});
