import t from 'tap';
import { isLastManager, membersIn } from '../../../../src/features/members/members.ts';
import type { TeamDirectory } from '../../../../src/features/teams/feature.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { CLUSTER_ROLES } from '../../../../src/rbac/cluster-roles.ts';
import { toTenantName } from '../../../../src/tenancy/tenant-name.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  namespace,
  roleBinding,
  serviceAccount,
  user,
} from '../../../support/rbac-objects.ts';

const ROLES = [...CLUSTER_ROLES].map(([name, rules]) => clusterRole(name, rules));
const NO_TEAMS: TeamDirectory = { groupsOf: () => [], teamsOf: () => [] };
type Indexed = Extract<StoredObject, { resource: string }>;

function membersOf(objects: readonly Indexed[], teams = NO_TEAMS) {
  const index = indexOf(namespace('web'), ...ROLES, ...objects);
  return membersIn(index.objectsOf(''), {
    namespace: 'web',
    tenant: toTenantName('acme'),
    namesHaveTenant: false,
    teams,
  });
}

t.test('each subject is one member with the highest of its roles', (t) => {
  const members = membersOf([
    roleBinding('web', 'a', 'ClusterRole/stonegate:edit', [user('acme:alice')]),
    roleBinding('web', 'b', 'ClusterRole/stonegate:manage', [user('acme:alice'), serviceAccount('bot')]),
    roleBinding('web', 'c', 'ClusterRole/stonegate:read', [group('stonegate:team:acme:ops')]),
  ]);
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
  const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
  const members = membersOf([
    clusterRole('edit', rules),
    clusterRole('auditor', rules),
    roleBinding('web', 'a', 'ClusterRole/edit', [user('u1')]),
    roleBinding('web', 'b', 'ClusterRole/auditor', [user('u2')]),
    roleBinding('web', 'c', 'ClusterRole/gone', [user('u3')]),
  ]);
  t.same(
    members.map(({ name, role }) => `${name} ${role}`),
    ['u1 ClusterRole:edit', 'u2 auditor'],
  );
  t.end();
});

t.test(
  'a subject with a role in the whole cluster is a member, but components of the cluster are not',
  (t) => {
    const members = membersOf([
      clusterRoleBinding('a', 'ClusterRole/stonegate:read', [
        user('acme:alice'),
        user('system:kube-scheduler'),
        serviceAccount('controller', 'kube-system'),
      ]),
      clusterRoleBinding('b', 'ClusterRole/stonegate:basic-user', [user('acme:bob')]),
    ]);
    t.same(
      members.map(({ name }) => name),
      ['acme:alice'],
    );
    t.end();
  },
);

t.test('a user has the roles of their teams besides their own', (t) => {
  const members = membersOf(
    [
      roleBinding('web', 'a', 'ClusterRole/stonegate:read', [user('acme:alice')]),
      roleBinding('web', 'b', 'ClusterRole/stonegate:edit', [group('stonegate:team:acme:ops')]),
    ],
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
  const alice = roleBinding('web', 'a', 'ClusterRole/stonegate:manage', [
    user('alice'),
    serviceAccount('bot'),
  ]);
  const bob = clusterRoleBinding('b', 'ClusterRole/stonegate:manage', [user('bob')]);
  const carol = roleBinding('web', 'c', 'ClusterRole/stonegate:manage', [user('carol')]);
  const isLast = (objects: readonly Indexed[]) => {
    const members = membersOf(objects);
    const [found] = members.filter(({ name }) => name === 'alice');
    return found !== undefined && isLastManager(members, found, 'web');
  };
  t.equal(isLast([alice, bob]), true);
  t.equal(isLast([alice, bob, carol]), false);
  t.end();
});

t.test('members are refused if bindings give more roles than can be listed in a moment', (t) => {
  const refusal = { code: 'ListTooLarge', message: /more than 10000 roles/ };
  const names = (many: number, word: string) => Array.from({ length: many }, (_, at) => `${word}${at}`);
  const read = 'ClusterRole/stonegate:read';
  const users = names(20, 'b').map((name) =>
    roleBinding(
      'web',
      name,
      read,
      names(501, name).map((each) => user(each)),
    ),
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
