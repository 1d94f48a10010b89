/** Whatever the names of projects, domains and namespaces, roles count only in their own scope. */
import fc from 'fast-check';
import t from 'tap';
import { rolesInScope } from '../../src/identity/keystone/roles-in-scope.ts';
import type { AssignmentScope, RoleAssignment } from '../../src/tenancy/keystone-v3.ts';

const DOMAINS = ['d1', 'd2'];
const domain = (id: string) => ({ id, name: id });
const rules = {
  disabled: { projectIDs: new Set(['off']), domainIDs: new Set<string>() },
  namespaceOf: ({ name }: { name: string }) => name,
};
const name = fc.oneof(fc.constantFrom('web', 'api', ''), fc.string());

const anyScope: fc.Arbitrary<AssignmentScope> = fc.oneof(
  fc
    .record({
      id: fc.oneof(fc.constant('off'), fc.string()),
      name,
      domain: fc.constantFrom(...DOMAINS).map(domain),
    })
    .map((project): AssignmentScope => ({ kind: 'project', project })),
  fc.constantFrom(...DOMAINS).map((id): AssignmentScope => ({ kind: 'domain', domain: domain(id) })),
  fc.constant<AssignmentScope>({ kind: 'system' }),
);
const anyAssignment = fc.record({
  user: fc.constant({ id: 'u', name: 'erin', domain: domain('d1') }),
  role: fc.constant({ id: 'r', name: 'member' }),
  scope: anyScope,
}) satisfies fc.Arbitrary<RoleAssignment>;
const anyRoleScope = fc.record({
  domainID: fc.constantFrom(...DOMAINS, undefined),
  namespace: name,
  cluster: fc.boolean(),
});

t.test(
  'a role counts in every scope that matches it and in no other domain, namespace or project',
  async () => {
    fc.assert(
      fc.property(fc.array(anyAssignment), anyRoleScope, (assignments, roleScope) => {
        const counting = rolesInScope(assignments, roleScope, rules).map(({ scope }) =>
          JSON.stringify(scope),
        );
        return assignments.every(
          ({ scope }) => counting.includes(JSON.stringify(scope)) === matches(scope, roleScope),
        );
      }),
    );
  },
);

function matches(
  scope: AssignmentScope,
  roleScope: { domainID: string | undefined; namespace: string; cluster: boolean },
) {
  if (scope.kind === 'system') return roleScope.cluster;
  if (scope.kind === 'domain') return scope.domain.id === roleScope.domainID;
  const { id, name, domain } = scope.project;
  return (
    roleScope.namespace !== '' &&
    name === roleScope.namespace &&
    domain.id === roleScope.domainID &&
    id !== 'off'
  );
}
