/** A namespace with more bindings than the index holds: the API server decides about it, and no other. */
import t from 'tap';
import { permittedNamespaces } from '../../../../src/access/all-namespaces/all-namespaces.ts';
import { doubtAbout } from '../../../../src/access/incomplete-rules.ts';
import type { UserInfo } from '../../../../src/api/authentication-v1.ts';
import type { AccessReviewer } from '../../../../src/authorization/access-reviewer.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { boundedAccessIndexOf } from '../../../support/access-index.ts';
import { namespacesSiteOf } from '../../../support/namespaces-site.ts';
import { clusterRole, group, namespace, rbacUser, roleBinding, user } from '../../../support/rbac-objects.ts';

const VIEWER = clusterRole('viewer', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
const ALL = [group('system:authenticated')];
const bind = (place: string, name: string, subjects = ALL) =>
  roleBinding(place, name, 'ClusterRole/viewer', subjects);

function overfullSite() {
  const asked: string[] = [];
  const allowed = new Set<string>();
  const partialReviewer: AccessReviewer = {
    async review({ username }: UserInfo, attributes) {
      const { name = '' } = 'resourceAttributes' in attributes ? attributes.resourceAttributes : {};
      asked.push(`${username} ${name}`);
      return { allowed: allowed.has(name) };
    },
    reviewSelf: async () => ({ allowed: false }),
  };
  const index = boundedAccessIndexOf(
    { objects: 1, bytes: 1_000_000 },
    VIEWER,
    ...['home', 'other'].map((name) => namespace(name)),
    bind('home', 'alice', [user('acme:alice')]),
    bind('other', 'x', [user('acme:mallory')]),
  );
  const site = namespacesSiteOf(index, { partialReviewer });
  return { ...site, asked, allowed };
}

t.test(
  'the users whom it names keep the filtered list, in which the API server decides about it',
  async (t) => {
    const { get, put, asked, allowed } = overfullSite();
    t.same((await get('alice'))?.names, ['home']);
    t.same(asked, [], 'no review while the index holds everything');
    put(bind('other', 'y'));
    t.same((await get('alice'))?.names, ['home']);
    t.same(asked, ['acme:alice other']);
    t.same((await get('alice'))?.names, ['home']);
    t.equal(asked.length, 1, 'a review counts for a minute');
    allowed.add('other');
    t.same((await get('bob'))?.names, ['other']);
    t.same(asked.slice(1), ['acme:bob other']);
  },
);

t.test('what the index holds needs no review, also in that namespace', async (t) => {
  const { get, put, asked } = overfullSite();
  put(bind('home', 'y'));
  t.same((await get('alice'))?.names, ['home']);
  t.same(asked, []);
});

t.test('an open watch shows no name without a review, and goes on with reviews', async (t) => {
  const { watch, put, asked, allowed } = overfullSite();
  const first = await watch('alice');
  t.same(await first.read(), ['ADDED home']);
  put(bind('other', 'y'));
  t.same(await first.read(), []);
  t.ok(first.ended, 'the client watches on');
  const second = await watch('alice');
  t.same(await second.read(), ['ADDED home']);
  t.same(asked, ['acme:alice other']);
  allowed.add('other');
  put(bind('other', 'z'));
  t.same(await second.read(), []);
  second.close();
  const third = await watch('alice');
  t.same(await third.read(), ['ADDED home', 'ADDED other']);
});

t.test('without a reviewer such a namespace is not shown', async (t) => {
  const site = overfullSite();
  site.put(bind('other', 'y'));
  const bare = namespacesSiteOf(site);
  t.same((await bare.get('alice'))?.names, ['home']);
  const watch = await bare.watch('alice');
  t.same(await watch.read(), ['ADDED home']);
});

t.test('-A requests it too, if there is room, and enumerations name it', async (t) => {
  const { index, access, put } = overfullSite();
  put(bind('other', 'y'));
  const alice = uniformSubject(rbacUser('acme:alice', ['system:authenticated']));
  const question = { verb: 'get', apiGroup: '', resource: 'namespaces', tenant: '' };
  t.same(permittedNamespaces(index, alice, question, 10), ['home', 'other']);
  t.same(permittedNamespaces(index, alice, question, 1), ['home']);
  const trust = { access, authorizers: ['Node', 'RBAC'] as const };
  t.match(doubtAbout(alice, trust), /namespaces other/);
  t.equal(doubtAbout(uniformSubject(rbacUser('zoe')), trust), undefined);
});
