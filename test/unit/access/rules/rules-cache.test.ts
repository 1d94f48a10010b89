import t from 'tap';
import { RULES_TTL, RulesCache, type RulesCacheOptions } from '../../../../src/access/rules/rules-cache.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { type AccessIndexSite, accessIndexOf } from '../../../support/access-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  rbacUser,
  role,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const LIST = { verb: 'list' };
const alice = uniformSubject(rbacUser('alice', ['devs']));
const bob = uniformSubject(rbacUser('bob', ['ops']));
const readers = clusterRole('reader', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }]);
const sets = [
  { name: 'readable', verb: 'list', apiGroup: '', resource: 'pods', subresource: '' },
  { name: 'logs', verb: 'get', apiGroup: '', resource: 'pods', subresource: 'log' },
];

function siteOf(): AccessIndexSite {
  return accessIndexOf(
    namespace('a'),
    namespace('b'),
    readers,
    roleBinding('a', 'of-alice', 'ClusterRole/reader', [user('alice')]),
    roleBinding('b', 'of-ops', 'ClusterRole/reader', [group('ops')]),
  );
}

function cacheOf({ index, clock }: AccessIndexSite, options: Partial<RulesCacheOptions> = {}): RulesCache {
  return new RulesCache({ index, clock, namedSets: [], ...options });
}

t.test(
  'a change is a reason to compile the rules of the users anew whom it concerns, and of no others',
  async (t) => {
    const site = siteOf();
    const cache = cacheOf(site);
    const ofAlice = cache.rulesOf(alice, LIST);
    const ofBob = cache.rulesOf(bob, LIST);
    t.equal(cache.rulesOf(alice, LIST), ofAlice);

    site.put(roleBinding('b', 'of-devs', 'ClusterRole/reader', [group('devs')]));
    t.equal(cache.rulesOf(bob, LIST), ofBob, "another group's binding");
    const more = cache.rulesOf(alice, LIST);
    t.match(more.rules.namespaces, [{ names: ['a', 'b'] }]);
    t.not(more.digest, ofAlice.digest);

    site.put(roleBinding('a', 'of-carol', 'ClusterRole/reader', [user('carol')]));
    site.put(role('a', 'unbound', []));
    site.put(namespace('c'));
    t.equal(cache.rulesOf(alice, LIST), more);
    t.equal(cache.rulesOf(bob, LIST), ofBob);

    site.put({ ...readers, rules: [] });
    t.same(cache.rulesOf(alice, LIST).rules.namespaces, [], 'a role that both have');
    t.same(cache.rulesOf(bob, LIST).rules.namespaces, []);
  },
);

t.test(
  "groups that count in one namespace only are looked at too, and another tenant's are not",
  async (t) => {
    const site = siteOf();
    const cache = cacheOf(site);
    const { cluster } = alice;
    const byNamespace = { ...alice, namespaces: new Map([['b', { ...cluster, groups: ['project-b'] }]]) };
    const before = cache.rulesOf(byNamespace, LIST);
    site.put(roleBinding('b', 'x', 'ClusterRole/reader', [group('project-b')], 'acme'));
    t.equal(cache.rulesOf(byNamespace, LIST), before);
    site.put(roleBinding('b', 'x', 'ClusterRole/reader', [group('project-b')]));
    t.match(cache.rulesOf(byNamespace, LIST).rules.namespaces, [{ names: ['a', 'b'] }]);
  },
);

t.test('rules are forgotten ten minutes after their last use', async (t) => {
  const site = siteOf();
  const cache = cacheOf(site);
  const first = cache.rulesOf(alice, LIST);
  site.clock.advance(RULES_TTL - 1);
  t.equal(cache.rulesOf(alice, LIST), first);
  site.clock.advance(RULES_TTL - 1);
  t.equal(cache.rulesOf(alice, LIST), first, 'counted from the last use');
  site.clock.advance(RULES_TTL);
  t.not(cache.rulesOf(alice, LIST), first);
  t.equal(cache.size, 1);
});

t.test('rules that no user asks for again leave the memory then', async (t) => {
  const site = siteOf();
  const cache = cacheOf(site);
  cache.rulesOf(alice, LIST);
  site.clock.advance(RULES_TTL / 2);
  cache.rulesOf(bob, LIST);
  site.clock.advance(RULES_TTL / 2);
  t.equal(cache.size, 1, "bob's, who came later");
  site.clock.advance(RULES_TTL / 2);
  t.same([cache.size, cache.bytes], [0, 0]);
  cache.rulesOf(alice, LIST);
  site.clock.advance(RULES_TTL);
  t.equal(cache.size, 0, 'again, after it was empty');
});

t.test(
  'the memory is bounded: the least recently used rules go first, and too large ones are not cached',
  async (t) => {
    const site = siteOf();
    const measure = cacheOf(site);
    measure.rulesOf(alice, LIST);
    const { bytes } = measure;
    const cache = cacheOf(site, { maxBytes: bytes * 2.5 });
    const ofAlice = cache.rulesOf(alice, LIST);
    cache.rulesOf(bob, LIST);
    t.equal(cache.rulesOf(alice, LIST), ofAlice);
    const carol = uniformSubject(rbacUser('carol', ['ops']));
    cache.rulesOf(carol, LIST);
    t.equal(cache.size, 2);
    t.equal(cache.rulesOf(alice, LIST), ofAlice, "bob's are gone, since he came before");
    t.ok(cache.bytes <= bytes * 2.5);

    const tiny = cacheOf(site, { maxBytes: bytes - 1 });
    t.match(tiny.rulesOf(alice, LIST).rules.namespaces, [{ names: ['a'] }]);
    t.same([tiny.size, tiny.bytes], [0, 0]);
  },
);

t.test('another selection has rules of its own', async (t) => {
  const cache = cacheOf(siteOf());
  t.same(cache.rulesOf(alice, { verb: 'delete' }).rules.namespaces, []);
  t.match(cache.rulesOf(alice, LIST).rules.namespaces, [{ names: ['a'] }]);
  t.match(cache.rulesOf(alice, { verb: 'list', apiGroup: 'apps' }).rules.namespaces, []);
  t.match(cache.rulesOf(alice, { verb: 'list', apiGroup: '' }).rules.namespaces, [{ names: ['a'] }]);
  t.same(cache.rulesOf(alice, { verb: 'list', namespace: 'b' }).rules.namespaces, []);
});

t.test('a named set is the namespaces in which its verb is allowed, new ones included', async (t) => {
  const site = siteOf();
  const cache = cacheOf(site, { namedSets: sets });
  t.strictSame(cache.rulesOf(alice, LIST).sets, { readable: ['a'], logs: [] });
  site.put(clusterRoleBinding('of-devs', 'ClusterRole/reader', [group('devs')]));
  t.strictSame(cache.rulesOf(alice, LIST).sets, { readable: ['a', 'b'], logs: [] });
  const before = cache.rulesOf(alice, LIST);
  const added = site.put(namespace('c'));
  const after = cache.rulesOf(alice, LIST);
  t.strictSame(after.sets, { readable: ['a', 'b', 'c'], logs: [] });
  t.not(after.digest, before.digest);
  site.put({ ...added, labels: { team: 'x' } });
  t.equal(cache.rulesOf(alice, LIST), after, 'a label is no change of access');
  site.delete(added);
  t.strictSame(cache.rulesOf(alice, LIST).sets, { readable: ['a', 'b'], logs: [] });
});

t.test('a namespace in the set of one user is no reason to compile the rules of another', async (t) => {
  const site = siteOf();
  site.put(clusterRoleBinding('of-devs', 'ClusterRole/reader', [group('devs')]));
  const cache = cacheOf(site, { namedSets: sets });
  const ofAlice = cache.rulesOf(alice, LIST);
  const ofBob = cache.rulesOf(bob, LIST);
  const told = new Set<string>();
  cache.watch(alice, () => told.add('alice'));
  cache.watch(bob, () => told.add('bob'));
  const added = site.put(namespace('c'));
  t.not(cache.rulesOf(alice, LIST), ofAlice);
  t.equal(cache.rulesOf(bob, LIST), ofBob);
  const withC = cache.rulesOf(alice, LIST);
  site.delete(added);
  t.not(cache.rulesOf(alice, LIST), withC);
  t.equal(cache.rulesOf(bob, LIST), ofBob);
  t.same([...told], ['alice']);
});

t.test('a namespace leaves a set also if its bindings are deleted before it, or after it', async (t) => {
  for (const order of [
    ['of-alice', 'a'],
    ['a', 'of-alice'],
  ] as const) {
    const site = siteOf();
    const cache = cacheOf(site, { namedSets: sets });
    t.strictSame(cache.rulesOf(alice, LIST).sets.readable, ['a']);
    for (const name of order) {
      site.delete(name === 'a' ? namespace('a') : roleBinding('a', name, 'ClusterRole/reader', []));
      t.strictSame(cache.rulesOf(alice, LIST).sets.readable, [], name);
    }
  }
});

t.test('a member of system:masters has each new namespace in the sets', async (t) => {
  const site = siteOf();
  const cache = cacheOf(site, { namedSets: sets });
  const root = uniformSubject(rbacUser('root', ['system:masters']));
  cache.rulesOf(root, LIST);
  site.put(namespace('c'));
  t.strictSame(cache.rulesOf(root, LIST).sets, { readable: ['a', 'b', 'c'], logs: ['a', 'b', 'c'] });
});

t.test('what has stopped holds nothing, and compiles for each call', async (t) => {
  const site = siteOf();
  const cache = cacheOf(site);
  cache.rulesOf(alice, LIST);
  cache.stop();
  t.same([cache.size, cache.bytes], [0, 0]);
  site.put(roleBinding('b', 'late', 'ClusterRole/reader', [user('alice')]));
  t.match(cache.rulesOf(alice, LIST).rules.namespaces, [{ names: ['a', 'b'] }]);
  t.equal(cache.size, 0, 'it would not hear of the next change');
});

t.test('a tenant that fills the cache displaces no rules of a smaller one', async (t) => {
  const site = siteOf();
  const { bytes } = (() => {
    const one = cacheOf(site);
    one.rulesOf(alice, LIST);
    return one;
  })();
  const cache = cacheOf(site, { maxBytes: bytes * 5 });
  const small = uniformSubject({ ...rbacUser('alice', ['devs']), home: 'small' });
  const large = uniformSubject({ ...rbacUser('alice', ['devs']), home: 'large' });
  const ofSmall = cache.rulesOf(small, LIST);
  for (let at = 0; at < 50; at += 1) cache.rulesOf(large, { verb: `verb${at}` });
  t.ok(cache.size > 2);
  t.ok(cache.bytes <= bytes * 5);
  t.equal(cache.rulesOf(small, LIST), ofSmall);
});
