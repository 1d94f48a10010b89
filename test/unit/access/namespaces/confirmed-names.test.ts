/** A name counts if the API server has confirmed it lately, for this very user. */
import t from 'tap';
import { ConfirmedNames } from '../../../../src/access/namespaces/confirmed-names.ts';
import { VisibleNamespaces } from '../../../../src/access/namespaces/visible-namespaces.ts';
import type { UserInfo } from '../../../../src/api/authentication-v1.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import { uniformSubject } from '../../../../src/rbac/attributes.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { clusterRole, clusterRoleBinding, namespace, rbacUser, user } from '../../../support/rbac-objects.ts';

const MINUTE = 60_000;
const alice: UserInfo = { username: 'alice', uid: 'u1', groups: ['a', 'b'], extra: {} };

/** Alice sees every namespace by RBAC; another authorizer refuses some. */
function siteOf(...names: readonly string[]) {
  const site = accessIndexOf(
    ...names.map((name) => namespace(name)),
    clusterRole('viewer', [{ verbs: ['get'], apiGroups: [''], resources: ['namespaces'] }]),
    clusterRoleBinding('viewers', 'ClusterRole/viewer', [user('alice')]),
  );
  const view = new VisibleNamespaces(site.index, uniformSubject(rbacUser('alice')), '');
  site.index.subscribe({ changed: (change) => view.apply(change) });
  const confirmed = new ConfirmedNames(site.clock, () => site.index.highestRevision);
  const refused = new Set<string>();
  const reviewed: string[] = [];
  return {
    ...site,
    confirmed,
    refused,
    reviewed,
    of: (info: UserInfo = alice) => ({ view, user: info }),
    review: async (name: string) => {
      reviewed.push(name);
      return !refused.has(name);
    },
  };
}

async function shown(site: ReturnType<typeof siteOf>, info: UserInfo, ...names: string[]): Promise<string[]> {
  return [...(await site.confirmed.confirm(site.of(info), names, site.review))].sort();
}

t.test('a name is reviewed once in a minute, refused or not', async (t) => {
  const site = siteOf('a', 'b');
  site.refused.add('b');
  t.same(await shown(site, alice, 'a', 'b'), ['a']);
  t.same(await shown(site, alice, 'a', 'b'), ['a']);
  t.same(site.reviewed, ['a', 'b']);
  site.clock.advance(MINUTE);
  site.refused.clear();
  t.same(await shown(site, alice, 'a', 'b'), ['a', 'b']);
  t.same(site.reviewed, ['a', 'b', 'a', 'b']);
});

t.test('a change of the user’s access ends what counts, and a change of another’s does not', async (t) => {
  const site = siteOf('a');
  await shown(site, alice, 'a');
  site.put(clusterRoleBinding('of-bob', 'ClusterRole/viewer', [user('bob')]));
  await shown(site, alice, 'a');
  t.same(site.reviewed, ['a']);
  site.put(clusterRoleBinding('again', 'ClusterRole/viewer', [user('alice')]));
  await shown(site, alice, 'a');
  t.same(site.reviewed, ['a', 'a']);
});

t.test('reviews count for the same uid, groups and extras only, however they are ordered', async (t) => {
  const site = siteOf('a');
  const withExtra = { ...alice, extra: { x: ['1'], y: ['2'] } };
  await shown(site, withExtra, 'a');
  await shown(site, { ...withExtra, groups: ['b', 'a'], extra: { y: ['2'], x: ['1'] } }, 'a');
  t.same(site.reviewed, ['a']);
  for (const other of [
    alice,
    { ...withExtra, uid: 'u2' },
    { ...withExtra, groups: ['a'] },
    { ...withExtra, extra: { x: ['1'] } },
  ]) {
    const before = site.reviewed.length;
    await shown(site, other, 'a');
    t.equal(site.reviewed.length, before + 1);
  }
});

t.test('at most eight reviews of a request are in flight', async (t) => {
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const site = siteOf(...names);
  let inFlight = 0;
  let most = 0;
  const confirmed = await site.confirmed.confirm(site.of(), names, async () => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight -= 1;
    return true;
  });
  t.equal(confirmed.size, 20);
  t.equal(most, 8);
});

t.test('an outcome that is older than a change of the user’s access is not cached', async (t) => {
  const site = siteOf('a');
  await site.confirmed.confirm(site.of(), ['a'], async () => {
    site.put(clusterRoleBinding('again', 'ClusterRole/viewer', [user('alice')]));
    return true;
  });
  await shown(site, alice, 'a');
  t.same(site.reviewed, ['a']);
});

t.test('a refusal by a review that began later counts, also if it ends first', async (t) => {
  const site = siteOf('a');
  let finish: (isAllowed: boolean) => void = () => {};
  const first = site.confirmed.confirm(site.of(), ['a'], () => new Promise((resolve) => (finish = resolve)));
  site.refused.add('a');
  t.same(await shown(site, alice, 'a'), []);
  finish(true);
  t.same([...(await first)], []);
  t.same(site.confirmed.refused(site.of(), ['a']), ['a']);
});

t.test('a name that came to be refused is revoked for clients that may have it', async (t) => {
  const site = siteOf('a', 'b');
  site.refused.add('b');
  await shown(site, alice, 'a', 'b');
  t.ok(site.confirmed.isKnown(site.of(), 'b'));
  t.notOk(site.confirmed.isKnown(site.of(), 'c'));
  site.clock.advance(MINUTE);
  site.refused.add('a');
  const { revision } = site.index;
  await shown(site, alice, 'a', 'b');
  t.ok(site.confirmed.isRevokedSince(site.of(), 'a', revision));
  t.notOk(site.confirmed.isRevokedSince(site.of(), 'b', revision), 'never shown');
  site.clock.advance(6 * MINUTE + 1);
  t.notOk(site.confirmed.isRevokedSince(site.of(), 'a', revision + 1), 'a client that began later');
  site.refused.clear();
  await shown(site, alice, 'a');
  t.notOk(site.confirmed.isRevokedSince(site.of(), 'a', revision), 'until it is allowed again');
});

t.test('a review that fails fails the request, and is made again for the next', async (t) => {
  const site = siteOf('a');
  const failing = async (): Promise<boolean> => {
    throw new StatusError('UpstreamUnavailable', 'down');
  };
  await t.rejects(site.confirmed.confirm(site.of(), ['a'], failing), { code: 'UpstreamUnavailable' });
  t.same(await shown(site, alice, 'a'), ['a']);
});

t.test('the reviews of users beyond sixteen of one view are forgotten, the least recent first', async (t) => {
  const site = siteOf('a');
  for (let at = 0; at <= 16; at += 1) await shown(site, { ...alice, uid: `u${at}` }, 'a');
  t.equal(site.reviewed.length, 17);
  await shown(site, { ...alice, uid: 'u16' }, 'a');
  t.equal(site.reviewed.length, 17);
  await shown(site, { ...alice, uid: 'u0' }, 'a');
  t.equal(site.reviewed.length, 18);
});

t.test('the names that a watch shows are reviewed again, and it is told of what has changed', async (t) => {
  const site = siteOf('a', 'b');
  await shown(site, alice, 'a', 'b');
  const told: string[] = [];
  const stop = site.confirmed.follow(site.of(), {
    review: site.review,
    shown: () => ['a', 'b'],
    reviewed: (name, isAllowed) => told.push(`${name} ${isAllowed}`),
    postponed: (error) => t.fail(String(error)),
    failed: (error) => t.fail(String(error)),
  });
  site.refused.add('b');
  site.clock.advance(MINUTE);
  await new Promise((resolve) => setImmediate(resolve));
  t.same(told, ['b false']);
  stop();
  site.refused.clear();
  const before = site.reviewed.length;
  site.clock.advance(2 * MINUTE);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(site.reviewed.length, before, 'a watch that has ended reviews nothing');
});
