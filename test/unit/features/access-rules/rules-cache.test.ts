import t from 'tap';
import type { RulesSelection } from '../../../../src/features/access-rules/access-rules-v1alpha1.ts';
import { RulesCache } from '../../../../src/features/access-rules/rules-cache.ts';
import { type SubjectByNamespace, uniformSubject } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { clusterRole, group, namespace, rbacUser, roleBinding, user } from '../../../support/rbac-objects.ts';

const LIST = { verb: 'list' };
const alice = uniformSubject(rbacUser('alice', ['devs', 'ops']));
const readers = clusterRole('reader', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }]);

function siteOf() {
  const site = accessIndexOf(
    namespace('a'),
    readers,
    roleBinding('a', 'of-alice', 'ClusterRole/reader', [user('alice')]),
  );
  const cache = new RulesCache(site.index);
  const rulesOf = (subject: SubjectByNamespace, selection: RulesSelection) =>
    cache.known(subject, selection) ?? cache.compile(subject, selection);
  return { ...site, rulesOf };
}

t.test('rules are compiled anew after a change of a role or binding, and only then', async (t) => {
  const { rulesOf, put } = siteOf();
  const first = rulesOf(alice, LIST);
  t.match(first.rules.namespaces, [{ names: ['a'] }]);
  t.equal(rulesOf(alice, LIST), first);
  t.equal(
    rulesOf(uniformSubject(rbacUser('alice', ['ops', 'devs'])), LIST),
    first,
    'another order of groups',
  );
  put(namespace('b'));
  t.equal(rulesOf(alice, LIST), first);
  put(roleBinding('b', 'of-devs', 'ClusterRole/reader', [group('devs')]));
  const second = rulesOf(alice, LIST);
  t.match(second.rules.namespaces, [{ names: ['a', 'b'] }]);
  t.not(second.digest, first.digest);
  put(roleBinding('b', 'of-bob', 'ClusterRole/reader', [user('bob')]));
  t.equal(rulesOf(alice, LIST).digest, second.digest, "another user's binding");
  put({ ...readers, rules: [] });
  t.same(rulesOf(alice, LIST).rules.namespaces, []);
});

t.test('other users and other selections have rules of their own', async (t) => {
  const { rulesOf } = siteOf();
  t.match(rulesOf(alice, LIST).rules.namespaces, [{ names: ['a'] }]);
  t.same(rulesOf(uniformSubject(rbacUser('bob', ['devs', 'ops'])), LIST).rules.namespaces, []);
  t.same(rulesOf(alice, { verb: 'delete' }).rules.namespaces, []);
  t.same(rulesOf(alice, { verb: 'list', apiGroup: 'apps' }).rules.namespaces, []);
  t.match(rulesOf(alice, { verb: 'list', apiGroup: '' }).rules.namespaces, [{ names: ['a'] }]);
  t.same(rulesOf(alice, { verb: 'list', namespace: 'b' }).rules.namespaces, []);
  const { cluster } = alice;
  const inOne = { ...alice, namespaces: new Map([['a', { ...cluster, username: 'bob', groups: [] }]]) };
  t.same(rulesOf(inOne, LIST).rules.namespaces, [], 'another user in one namespace');
});

t.test('a tenant whose objects were all deleted, and that came again, has new rules', async (t) => {
  const site = accessIndexOf();
  const cache = new RulesCache(site.index);
  const subject = uniformSubject(rbacUser('alice', [], 'acme'));
  const role = clusterRole('reader', readers.rules, { tenant: 'acme' });
  const binding = roleBinding('a', 'x', 'ClusterRole/reader', [user('alice')], 'acme');
  const added = [site.put(role), site.put(binding)];
  t.match(cache.compile(subject, LIST).rules.namespaces, [{ names: ['a'] }]);
  for (const object of added) site.delete(object);
  t.equal(cache.known(subject, LIST), undefined);
  site.put({ ...role, rules: [] });
  site.put(binding);
  t.equal(cache.known(subject, LIST), undefined);
});
