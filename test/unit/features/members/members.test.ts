import t from 'tap';
import { isLastManager, membersIn } from '../../../../src/features/members/members.ts';
import type { TeamDirectory } from '../../../../src/features/teams/feature.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { CLUSTER_ROLES } from '../../../../src/rbac/cluster-roles.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import {
  clusterRole,
  group,
  indexOf,
  rbacObjects,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const ROLES = [...CLUSTER_ROLES].map(([name, rules]) => clusterRole(name, rules));
const NO_TEAMS: TeamDirectory = { groupsOf: () => [], teamsOf: () => [] };
type Indexed = Extract<StoredObject, { resource: string }>;

function membersOf(given: string | readonly Indexed[], teams = NO_TEAMS) {
  const objects = typeof given === 'string' ? rbacObjects(given) : given;
  const index = indexOf(...rbacObjects('Namespace web'), ...ROLES, ...objects);
  return membersIn(index.objectsOf(''), {
    namespace: 'web',
    tenant: toTenantName('acme'),
    namesHaveTenant: false,
    teams,
  });
}

t.test('each subject is one member with the highest of its roles', (t) => {
  const members = membersOf(`
    RoleBinding web/a: ClusterRole/stonegate:edit to User acme:alice
    RoleBinding web/b: ClusterRole/stonegate:manage to User acme:alice, ServiceAccount bot
    RoleBinding web/c: ClusterRole/stonegate:read to Group stonegate:team:acme:ops`);
  t.same(
    members.map(({ type, name, role, owner, grants }) => [type, name, role, owner, grants.length]),
    [
      ['ServiceAccount', 'web:bot', 'manage', true, 1],
      ['Team', 'ops', 'read', false, 1],
      ['User', 'acme:alice', 'manage', true, 2],
    ],
  );
  t.end();
});

t.test('a role other than the four is shown by its name, never as one of them', (t) => {
  const members = membersOf(`
    ClusterRole edit: * * *
    ClusterRole auditor: * * *
    RoleBinding web/a: ClusterRole/edit to User u1
    RoleBinding web/b: ClusterRole/auditor to User u2
    RoleBinding web/c: ClusterRole/gone to User u3`);
  t.same(
    members.map(({ name, role }) => `${name} ${role}`),
    ['u1 ClusterRole:edit', 'u2 auditor'],
  );
  t.end();
});

t.test(
  'a subject with a role in the whole cluster is a member, but components of the cluster are not',
  (t) => {
    const members = membersOf(`
      ClusterRoleBinding a: ClusterRole/stonegate:read to User acme:alice, User system:kube-scheduler, ServiceAccount kube-system/controller
      ClusterRoleBinding b: ClusterRole/stonegate:basic-user to User acme:bob`);
    t.same(
      members.map(({ name }) => name),
      ['acme:alice'],
    );
    t.end();
  },
);

t.test('a user has the roles of their teams besides their own', (t) => {
  const members = membersOf(
    `RoleBinding web/a: ClusterRole/stonegate:read to User acme:alice
    RoleBinding web/b: ClusterRole/stonegate:edit to Group stonegate:team:acme:ops`,
    { ...NO_TEAMS, groupsOf: (_, name) => (name === 'acme:alice' ? ['stonegate:team:acme:ops'] : []) },
  );
  t.match(members.at(-1), {
    name: 'acme:alice',
    role: 'edit',
    grants: [{ team: undefined }, { team: 'ops' }],
  });
  t.end();
});

t.test('service accounts and administrators of the cluster do not replace the last manager', (t) => {
  const two = `
    RoleBinding web/a: ClusterRole/stonegate:manage to User alice, ServiceAccount bot
    ClusterRoleBinding b: ClusterRole/stonegate:manage to User bob`;
  const isLast = (objects: string) => {
    const members = membersOf(objects);
    const [found] = members.filter(({ name }) => name === 'alice');
    return found !== undefined && isLastManager(members, found, 'web');
  };
  t.equal(isLast(two), true);
  t.equal(isLast(`${two}\nRoleBinding web/c: ClusterRole/stonegate:manage to User carol`), false);
  t.end();
});

t.test('members are refused if bindings give more roles than can be listed in a moment', (t) => {
  const refusal = { code: 'ListTooLarge', message: /more than 10000 roles/ };
  const names = (many: number, word: string) => Array.from({ length: many }, (_, at) => `${word}${at}`);
  const read = 'ClusterRole/stonegate:read';
  const users = names(20, 'b').flatMap((name) =>
    rbacObjects(`RoleBinding web/${name}: ${read} to ${names(501, `User ${name}`).join(', ')}`),
  );
  t.throws(() => membersOf(users), refusal);
  // Few bindings give many roles to the members of many teams.
  const teams = names(200, 'stonegate:team:acme:t');
  const ofTeams = [
    roleBinding('web', 'users', read, names(60, 'u').map(user)),
    roleBinding('web', 'teams', read, teams.map(group)),
  ];
  t.throws(() => membersOf(ofTeams, { ...NO_TEAMS, groupsOf: () => teams }), refusal);
  t.end();
});
