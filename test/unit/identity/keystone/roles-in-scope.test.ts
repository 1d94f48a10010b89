/** Which looked-up roles count for a request, and the identity they make. */
import t from 'tap';
import { identityOf } from '../../../../src/identity/keystone/keystone-identity.ts';
import { withRoles } from '../../../../src/identity/keystone/role-lookup.ts';
import { type RoleScope, rolesInScope } from '../../../../src/identity/keystone/roles-in-scope.ts';
import type { Identity } from '../../../../src/tenancy/identity.ts';
import type { AssignmentScope, RoleAssignment } from '../../../../src/tenancy/keystone-v3.ts';

const ACME = { id: 'd1', name: 'acme' };
const ERIN = { id: 'u1', name: 'erin', domain: ACME };
const NOTHING_OFF = { projectIDs: new Set<string>(), domainIDs: new Set<string>() };
const rules = { disabled: NOTHING_OFF, namespaceOf: ({ name }: { name: string }) => name };
const inWeb: RoleScope = { domainID: 'd1', namespace: 'web', cluster: false };

const project = (id: string, name = id, domain = ACME): AssignmentScope => ({
  kind: 'project',
  project: { id, name, domain },
});
const domain = (id: string): AssignmentScope => ({ kind: 'domain', domain: { id, name: id } });
const held = (scope: AssignmentScope, role: string): RoleAssignment => ({
  user: ERIN,
  role: { id: `id-${role}`, name: role },
  scope,
});
const UNSCOPED = {
  user: ERIN,
  scope: { kind: 'unscoped' },
  roles: [],
  federatedGroups: ['g1'],
  methods: ['password'],
  auditIDs: ['a1'],
  issuedAt: 0,
  expiresAt: 1,
} as const;
const erin: Identity = identityOf(UNSCOPED);

t.test('a disabled domain gives no roles, nor do its projects', async (t) => {
  const all = [held(project('p1', 'web'), 'member'), held(domain('d1'), 'admin')];
  const disabled = { ...NOTHING_OFF, domainIDs: new Set(['d1']) };
  t.same(rolesInScope(all, inWeb, { ...rules, disabled }), []);
});

t.test('the groups are those of a token scoped to the same place', async (t) => {
  const scope = project('p1', 'web');
  const roles = [{ id: 'r1', name: 'a role: %' }];
  const scoped = identityOf({ ...UNSCOPED, scope, roles });
  const made = withRoles(erin, [{ scope, roles }]);
  t.same(new Set(made.groups), new Set(scoped.groups));
  t.same(made.extra, scoped.extra);
  t.same(made.scope, scoped.scope);
  t.match(made.auditAnnotations, { 'keystone.stonegate.dev/roles': 'project p1: "a role: %"' });
});

t.test('the audit log lists roles unambiguously, whatever their names', async (t) => {
  const said = (...names: string[]) => {
    const roles = names.map((name) => ({ id: name, name }));
    return withRoles(erin, [{ scope: domain('d1'), roles }]).auditAnnotations['keystone.stonegate.dev/roles'];
  };
  t.equal(said('member', 'Größe_2.x'), 'domain d1: member, Größe_2.x');
  t.equal(said('x; domain d: admin'), 'domain d1: "x; domain d: admin"');
  t.equal(said('a, b'), 'domain d1: "a, b"');
  t.equal(said('a", "b'), String.raw`domain d1: "a\", \"b"`);
});

t.test('a project whose id cannot be part of a group is refused with 403', async (t) => {
  const held = [{ scope: project('p 1', 'web'), roles: [{ id: 'r', name: 'member' }] }];
  t.throws(() => withRoles(erin, held), { code: 'IdentityUnusable' });
});

t.test('extra and the shown scope come from the narrowest scope, groups from all scopes', async (t) => {
  const made = withRoles(
    erin,
    rolesInScope([held(domain('d1'), 'admin'), held(project('p1', 'web'), 'member')], inWeb, rules),
  );
  t.same(made.extra['alpha.kubernetes.io/identity/roles'], ['member']);
  t.match(made.scope, { kind: 'project', id: 'p1', roles: ['member'] });
  t.ok(made.groups.includes('keystone:domain:d1:role:admin'));
  t.ok(made.groups.includes('keystone:group:g1'), 'groups of the token itself stay');
});
