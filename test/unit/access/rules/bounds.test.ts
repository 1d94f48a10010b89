/** Documents of access rules have bounds, whatever rules, names and namespaces a tenant makes. */
import t from 'tap';
import { accessMatrix } from '../../../../src/access/rules/access-matrix.ts';
import { compileAccessRules } from '../../../../src/access/rules/access-rules.ts';
import { RulesCache } from '../../../../src/access/rules/rules-cache.ts';
import { ByConcern } from '../../../../src/access/subject-changes.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import type { SubjectKey } from '../../../../src/rbac/subject-key.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  indexOf,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const NONE = { everywhere: [], cluster: [], namespaces: [], otherNamespaces: [] };
const alice = uniformSubject(rbacUser('alice'));

function texts(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`);
}

/** Namespaces with a role of their own each, of that many grants. */
function differentRoles(namespaces: number, grants: number) {
  return texts(namespaces, 'ns').flatMap((name) => [
    namespace(name),
    role(name, 'own', [{ verbs: ['get'], apiGroups: [name], resources: texts(grants, 'kind') }]),
    roleBinding(name, 'b', 'Role/own', [user('alice')]),
  ]);
}

t.test('a document with different rules in very many namespaces is cut, and says so', async (t) => {
  const { rules, isTruncated } = compileAccessRules(indexOf(...differentRoles(120, 500)), alice, {
    verb: 'get',
  });
  t.ok(isTruncated);
  const kinds = rules.namespaces.flatMap((entry) => entry.rules.flatMap(({ resources }) => resources));
  t.ok(kinds.length >= 45_000 && kinds.length <= 51_000, `${kinds.length} grants`);
  const few = compileAccessRules(indexOf(...differentRoles(20, 500)), alice, { verb: 'get' });
  t.notOk(few.isTruncated);
});

t.test('large roles in the namespaces of others displace no rules of a namespace', async (t) => {
  const own = ['home', 'work'].flatMap((name) => [
    namespace(name),
    role(name, 'own', [{ verbs: ['get'], apiGroups: [name], resources: texts(100, 'kind') }]),
    roleBinding(name, 'b', 'Role/own', [user('alice')]),
  ]);
  const index = indexOf(...differentRoles(500, 500), ...own);
  const { rules, isTruncated, leftOut } = compileAccessRules(index, alice, { verb: 'get' });
  t.ok(isTruncated);
  for (const name of ['home', 'work']) {
    const found = rules.namespaces.find(({ names }) => names.includes(name));
    t.equal(found?.rules.flatMap(({ resources }) => resources).length, 100, name);
  }
  t.ok(leftOut.length > 300 && leftOut.every((name) => name.startsWith('ns')));
});

t.test('roles beyond the bound are not expanded', async (t) => {
  let expanded = 0;
  const rules = texts(400, 'api').map((group) => ({
    verbs: ['get'],
    apiGroups: [group],
    get resources() {
      expanded += 1;
      return texts(100, 'kind');
    },
  }));
  const objects = texts(50, 'ns').flatMap((name) => [
    namespace(name),
    role(name, 'own', [{ verbs: ['get'], apiGroups: [name], resources: ['x'] }, ...rules]),
    roleBinding(name, 'b', 'Role/own', [user('alice')]),
  ]);
  const index = indexOf(...objects);
  expanded = 0;
  t.ok(compileAccessRules(index, alice, { verb: 'get' }).isTruncated);
  t.ok(expanded < 2 * 50 * 400, `${expanded} rules were read`);
});

t.test('a namespace whose rules were cut does not get those of other namespaces', async (t) => {
  const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
  const index = indexOf(
    ...differentRoles(120, 500),
    clusterRole('reader', [pods]),
    clusterRoleBinding('of-many', 'ClusterRole/reader', [group('many')]),
  );
  const more = rbacUser('alice', ['many']);
  const subject = { cluster: more, other: more, namespaces: new Map([['home', rbacUser('alice', [])]]) };
  const { rules, isTruncated } = compileAccessRules(index, subject, { verb: 'get' });
  t.ok(isTruncated);
  t.match(rules.otherNamespaces, [{ resources: ['pods'] }]);
  const home = rules.namespaces.find(({ names }) => names.includes('home'));
  t.strictSame(home?.rules, []);
});

t.test('names of objects count too', async (t) => {
  const named = texts(3, 'r').map((name) =>
    role('a', name, [
      { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: texts(30_000, name) },
    ]),
  );
  const bindings = texts(3, 'r').map((name) => roleBinding('a', name, `Role/${name}`, [user('alice')]));
  const compiled = compileAccessRules(indexOf(namespace('a'), ...named, ...bindings), alice, { verb: 'get' });
  t.ok(compiled.isTruncated);
  const names = compiled.rules.namespaces.flatMap(({ rules }) =>
    rules.flatMap(({ resourceNames = [] }) => resourceNames),
  );
  t.ok(names.length <= 50_000, `${names.length} names`);
});

t.test('a matrix compares no kind with every rule', async (t) => {
  let reads = 0;
  const rules = texts(2_000, 'kind').map((name) => ({
    verbs: ['get'],
    apiGroups: [''],
    get resources() {
      reads += 1;
      return [name];
    },
  }));
  const [group] = accessMatrix({ ...NONE, namespaces: [{ names: ['a'], rules }] });
  t.equal(group?.rows.length, 2_000);
  t.ok(reads <= 3 * 2_000, `${reads} reads of rules`);
});

t.test('a row of the matrix shows at most fifty names and verbs', async (t) => {
  const everywhere = [
    { verbs: texts(500, 'verb'), apiGroups: ['*'], resources: ['*'], resourceNames: texts(500, 'name') },
  ];
  const pods = [{ verbs: ['get'], apiGroups: [''], resources: texts(50, 'kind') }];
  const groups = accessMatrix({ ...NONE, everywhere, namespaces: [{ names: ['a'], rules: pods }] });
  for (const row of groups.flatMap(({ rows }) => rows)) {
    t.ok(row.names.length <= 51 && row.otherVerbs.length <= 51);
    t.equal(row.names.at(-1), '…');
  }
});

/** Counts how often it is looked at. */
class CountedKeys extends Set<SubjectKey> {
  looks = 0;

  override has(key: SubjectKey): boolean {
    this.looks += 1;
    return super.has(key);
  }

  override *values(): SetIterator<SubjectKey> {
    for (const key of super.values()) {
      this.looks += 1;
      yield key;
    }
  }

  override [Symbol.iterator](): SetIterator<SubjectKey> {
    return this.values();
  }
}

t.test('a change with very many subjects costs a watch no more than its own groups', async (t) => {
  const own = new Set(texts(20, 'team'));
  const watches = new ByConcern();
  watches.add({ concerns: { tenant: '', keys: own } });
  const subjects = new CountedKeys(texts(10_000, 'other'));
  subjects.looks = 0;
  t.equal(watches.concernedBy({ tenant: '', keys: subjects }).size, 0);
  t.ok(subjects.looks <= own.size, `${subjects.looks} looks`);
  t.equal(watches.concernedBy({ tenant: '', keys: new Set(['team7']) }).size, 1);
  t.equal(watches.concernedBy({ tenant: 'acme', keys: new Set(['team7']) }).size, 0);
});

t.test(
  'a watch is told of the changes that concern it, until it ends, also after the cache stopped',
  async (t) => {
    const site = accessIndexOf(namespace('a'));
    const cache = new RulesCache({ index: site.index, clock: site.clock, namedSets: [] });
    let told = 0;
    const end = cache.watch(uniformSubject(rbacUser('bob', ['team'])), () => {
      told += 1;
    });
    site.put(roleBinding('a', 'x', 'Role/r', [user('carol')]));
    t.equal(told, 0);
    site.put(roleBinding('a', 'y', 'Role/r', [group('team')]));
    t.equal(told, 1);
    cache.stop();
    site.put(roleBinding('a', 'z', 'Role/r', [user('bob')]));
    t.equal(told, 2);
    end();
    site.put(roleBinding('a', 'zz', 'Role/r', [user('bob')]));
    t.equal(told, 2);
  },
);
