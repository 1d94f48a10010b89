/** What one user sees, and what is known of what the user has seen. */
import t from 'tap';
import { VisibleNamespaces } from '../../../../src/access/namespaces/visible-namespaces.ts';
import { type SubjectByNamespace, uniformSubject } from '../../../../src/rbac/attributes.ts';
import { type AccessIndexSite, accessIndexOf } from '../../../support/access-index.ts';
import {
  clusterRole,
  clusterRoleBinding,
  group,
  namespace,
  rbacUser,
  roleBinding,
  user,
} from '../../../support/rbac-objects.ts';

const alice = uniformSubject(rbacUser('alice', ['devs']));
const VIEWER = clusterRole('viewer', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]);
const inA = roleBinding('a', 'of-alice', 'ClusterRole/viewer', [user('alice')]);
const inB = roleBinding('b', 'of-devs', 'ClusterRole/viewer', [group('devs')]);

/** The namespaces a, b and c; alice sees a and b. */
function siteOf(): AccessIndexSite {
  return accessIndexOf(...['c', 'b', 'a'].map((name) => namespace(name)), VIEWER, inA, inB);
}

/** Is told of all changes. */
function viewOf({ index }: AccessIndexSite, subject: SubjectByNamespace = alice): VisibleNamespaces {
  const view = new VisibleNamespaces(index, subject, '');
  index.subscribe({ changed: (change) => view.apply(change) });
  return view;
}

t.test('a user sees the namespaces of their own bindings and of their groups’, by name', async (t) => {
  const view = viewOf(siteOf());
  t.same(view.names, ['a', 'b']);
  t.same(
    view.sorted.map(({ name }) => name),
    ['a', 'b'],
  );
  t.equal(view.get('a')?.name, 'a');
  t.equal(view.get('c'), undefined);
});

t.test('what a user sees follows grants, revocations, and namespaces that come and go', async (t) => {
  const site = siteOf();
  const view = viewOf(site);
  site.put(roleBinding('c', 'of-alice', 'ClusterRole/viewer', [user('alice')]));
  t.same(view.names, ['a', 'b', 'c']);
  site.delete(inB);
  t.same(view.names, ['a', 'c']);
  site.delete(namespace('a'));
  t.same(view.names, ['c']);
  site.put(namespace('a'));
  t.same(view.names, ['a', 'c'], 'the binding in it was never deleted');
  site.put(namespace('d'));
  t.same(view.names, ['a', 'c'], 'a namespace without a grant');
  site.put(clusterRoleBinding('everywhere', 'ClusterRole/viewer', [group('devs')]));
  t.same(view.names, ['a', 'b', 'c', 'd']);
});

t.test('an object that has changed is seen as it is now', async (t) => {
  const site = siteOf();
  const view = viewOf(site);
  site.put(namespace('a', { labels: { env: 'prod' } }));
  t.match(view.get('a')?.labels, { env: 'prod' });
  t.match(view.sorted[0]?.labels, { env: 'prod' });
});

t.test('a name that was taken from the user is known as seen, until the user sees it again', async (t) => {
  const site = siteOf();
  const view = viewOf(site);
  const before = site.index.revision;
  t.notOk(view.hasSeen('a'));
  site.delete(inA);
  t.ok(view.hasSeen('a'));
  t.notOk(view.hasSeen('c'), 'never seen');
  site.put(inA);
  t.notOk(view.hasSeen('a'));
  t.ok(view.hasSeenSince(before + 1));
  t.notOk(view.hasSeenSince(before), 'what was taken before the view was made is not known');
});

t.test('names that were taken are known up to a thousand; then what came before is not', async (t) => {
  const names = Array.from({ length: 1_001 }, (_, at) => `n${at}`);
  const everywhere = clusterRoleBinding('everywhere', 'ClusterRole/viewer', [user('alice')]);
  const site = accessIndexOf(...names.map((name) => namespace(name)), VIEWER, everywhere);
  const view = viewOf(site);
  const before = site.index.revision;
  site.delete(everywhere);
  t.same(view.names, []);
  t.notOk(view.hasSeenSince(before + 1));
  t.ok(view.hasSeenSince(site.index.revision + 1));
});

t.test('a right covers a name whether or not there is such a namespace', async (t) => {
  const site = siteOf();
  const view = viewOf(site);
  const named = { verbs: ['get'], apiGroups: [''], resources: ['namespaces'], resourceNames: ['later'] };
  t.notOk(view.covers('later'));
  site.put(clusterRole('named', [named]));
  site.put(clusterRoleBinding('named', 'ClusterRole/named', [user('alice')]));
  t.ok(view.covers('later'));
  t.same(view.names, ['a', 'b']);
});

t.test('groups that count in one namespace only are the user’s in no other', async (t) => {
  const site = accessIndexOf(
    ...['a', 'b'].map((name) => namespace(name)),
    VIEWER,
    clusterRoleBinding('project', 'ClusterRole/viewer', [group('project-a')]),
  );
  const { cluster } = uniformSubject(rbacUser('alice'));
  const namespaces = new Map([['a', rbacUser('alice', ['project-a'])]]);
  t.same(viewOf(site, { cluster, other: cluster, namespaces }).names, ['a']);
});

t.test(
  'the digest is that of the names and the user: equal in each process that knows the same',
  async (t) => {
    const [one, another] = [siteOf(), siteOf()];
    const [view, elsewhere] = [viewOf(one), viewOf(another)];
    t.equal(view.digest, elsewhere.digest);
    t.not(view.generation, elsewhere.generation);
    const reordered = uniformSubject(rbacUser('alice', ['devs']));
    t.equal(viewOf(one, reordered).identity, view.identity);
    const bob = uniformSubject(rbacUser('bob', ['devs']));
    t.not(viewOf(one, bob).identity, view.identity);
    const { digest } = view;
    one.delete(inA);
    t.not(view.digest, digest);
    one.put(inA);
    t.equal(view.digest, digest);
  },
);

t.test('the generation is another after each change of the user’s access, and of no other’s', async (t) => {
  const site = siteOf();
  const view = viewOf(site);
  const { generation } = view;
  site.put(roleBinding('c', 'of-bob', 'ClusterRole/viewer', [user('bob')]));
  site.put(namespace('d'));
  t.equal(view.generation, generation);
  site.delete(inA);
  t.not(view.generation, generation);
});
