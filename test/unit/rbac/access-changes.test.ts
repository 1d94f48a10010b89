/** Which followers a change of the index reaches, and when they decide what it means. */
import t from 'tap';
import { AccessChanges } from '../../../src/rbac/access-changes.ts';
import { sizeOf } from '../../../src/rbac/index-bound.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { listInto, namespace, rbacObject } from '../../support/rbac-objects.ts';
import { eachRow } from '../../support/rows.ts';

function site(options = {}) {
  const index = new RBACIndex(options);
  listInto(index, []);
  const clock = createFakeClock();
  const turns: (() => void)[] = [];
  const changes = new AccessChanges(index, clock, (turn) => turns.push(turn));
  const events: string[] = [];
  /** A follower whose decisions take so many milliseconds. */
  const follow = (name: string, keys: readonly string[], { tenant = '', takes = 1, decides = true } = {}) =>
    changes.follow({
      concerns: { tenant, keys: new Set(keys) },
      namespacesOf: tenant,
      changed(change) {
        events.push(`${name} ${change.kind}`);
        return decides;
      },
      decide() {
        events.push(`${name} decides`);
        clock.advance(takes);
      },
      reset: () => events.push(`${name} reset`),
    });
  return {
    ...{ index, turns, follow },
    put: (line: string, tenant = '') => index.put(rbacObject(line, tenant)),
    /** The events since the last call. */
    read: () => events.splice(0),
  };
}

t.test('a change reaches the followers of its subjects, or of its tenant’s namespaces', (t) =>
  eachRow(
    `
             | RoleBinding a/x: Role/r to User alice                 | alice access
             | RoleBinding a/x: Role/r to User alice, Group devs     | alice access, devs access
             | RoleBinding a/x: Role/r to User carol                 |
             | RoleBinding a/x: Role/r to Group system:authenticated |
             | RoleBinding a/x: Role/r to Group system:authenticated, Group devs | devs access
             | ClusterRoleBinding x: ClusterRole/r to Group system:authenticated | all access
             | Namespace a                                           | alice namespace, devs namespace, all namespace
        acme | RoleBinding a/x: Role/r to User alice                 | acme access
        acme | RoleBinding a/x: Role/r to Group system:authenticated | acme access
        acme | Namespace a                                           | acme namespace
      globex | RoleBinding a/x: Role/r to User alice                 |
      globex | Namespace a                                           |`,
    (tenant = '', line = '', reached = '') => {
      const { put, read, follow } = site();
      follow('alice', ['user:alice'], { decides: false });
      follow('devs', ['devs'], { decides: false });
      follow('all', ['system:authenticated'], { decides: false });
      follow('acme', ['user:alice', 'system:authenticated'], { tenant: 'acme', decides: false });
      put(line, tenant);
      t.equal(read().join(', '), reached, `${tenant} ${line}`);
    },
  ),
);

t.test('decisions are made in later turns, each of which takes about ten milliseconds', (t) => {
  const { put, read, follow, turns } = site();
  follow('indifferent', ['devs'], { decides: false });
  put('RoleBinding n/w: Role/r to Group devs');
  t.equal(turns.length, 0);
  for (const name of ['a', 'b', 'c']) follow(name, ['devs'], { takes: 5 });
  for (const name of ['x', 'y']) put(`RoleBinding n/${name}: Role/r to Group devs`);
  t.notMatch(read().join(), /decides/);
  t.equal(turns.length, 1, 'several changes wait for one turn');
  turns.shift()?.();
  t.same(read(), ['a decides', 'b decides']);
  t.equal(turns.length, 1);
  turns.shift()?.();
  t.same(read(), ['c decides']);
  t.equal(turns.length, 0);
  put('RoleBinding n/z: Role/r to Group devs');
  t.equal(turns.length, 1, 'a later change is decided too');
  t.end();
});

t.test('a follower that has left neither hears of changes nor decides', (t) => {
  const { put, read, follow, turns, index } = site();
  const ends = ['a', 'b'].map((name) => follow(name, ['devs']));
  put('RoleBinding n/x: Role/r to Group devs');
  ends[0]?.();
  read();
  turns.shift()?.();
  t.same(read(), ['b decides']);
  put('RoleBinding n/y: Role/r to Group devs');
  index.replace('roles', [], 1);
  t.same(read(), ['b access', 'b reset']);
  for (const end of ends) end();
  turns.shift()?.();
  put('Namespace n');
  listInto(index, []);
  t.same(read(), []);
  follow('c', ['devs']);
  put('Namespace n');
  t.same(read(), ['c namespace'], 'another may follow afterwards');
  t.end();
});

t.test('after the API server’s storage was restored, all followers discard their decisions', (t) => {
  const { read, follow, index } = site();
  for (const tenant of ['acme', 'globex']) follow(tenant, [], { tenant });
  index.replace('roles', [], 1);
  t.same(read(), ['acme reset', 'globex reset']);
  t.end();
});

t.test('when the index of a tenant is turned off, its followers discard their decisions', (t) => {
  const large = rbacObject('Namespace n', 'acme');
  const { read, follow, index } = site({ maxBytes: 4 * sizeOf(large) });
  for (const tenant of ['acme', 'globex']) follow(tenant, [], { tenant });
  for (const name of ['n', 'm']) index.put(namespace(name, { tenant: 'acme' }));
  t.same(read(), ['acme namespace', 'acme reset']);
  t.end();
});
