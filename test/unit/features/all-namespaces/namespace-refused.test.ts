/**
 * The API server refuses namespaces that RBAC permits: for moments while it starts and after deletions, or
 * for good if another authorizer decides. Nothing permitted is ever missing from a list or watch.
 */
import t from 'tap';
import { parse } from 'yaml';
import { contentDigits } from '../../../../src/kubernetes/lists/shown-revision.ts';
import type { StoredObject } from '../../../../src/kubernetes/rbac-v1.ts';
import { headerValue } from '../../../../src/lib/header-list.ts';
import type { Handled } from '../../../../src/proxy/feature.ts';
import { accessIndexOf } from '../../../support/access-index.ts';
import { allNamespacesSite, podReader } from '../../../support/all-namespaces.ts';
import { eventually } from '../../../support/eventually.ts';
import { passUntil } from '../../../support/fake-clock.ts';
import { fakeExchange } from '../../../support/fake-exchange.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { objectNames } from '../../../support/namespaced-lists.ts';
import { createWatches, event, readWatch } from '../../../support/namespaced-watches.ts';
import { outgoingOf } from '../../../support/outgoing.ts';
import { rbacObject } from '../../../support/rbac-objects.ts';

const CONTENTS = new Map<string, string[]>(Object.entries(parse('{a: [p1, p2], b: [q1], c: [r1]}')));
const REFUSED = { status: 403 };

function startSite() {
  const objects = podReader(['a', 'b', 'c']);
  const binding = (place: string): StoredObject => {
    const found = objects.find(({ name }) => name === `reader-${place}`);
    if (found === undefined) throw new Error(`no binding in ${place}`);
    return found;
  };
  const watches = createWatches();
  const index = accessIndexOf(...objects);
  index.delete(binding('c'));
  const site = allNamespacesSite({ index, contents: CONTENTS, changes: { streamer: watches.streamer } });
  /** A request whose first attempt has met a refused namespace. */
  async function waiting(target: string): Promise<{ end(): Promise<Handled> }> {
    const answer = site.handle(site.outgoing(target));
    answer.catch(() => {});
    await eventually(() => site.clock.pending > 0);
    return { end: () => passUntil(site.clock, answer) };
  }
  return { ...site, watches, binding, waiting };
}

function listOf(handled: Handled): { readonly names: readonly string[]; readonly revision: string } {
  if (handled === undefined || !('body' in handled)) throw new Error('no list');
  t.equal(headerValue(handled.headers, 'warning'), undefined);
  return {
    names: objectNames(handled.body),
    revision: JSON.parse(String(handled.body)).metadata.resourceVersion,
  };
}

function streamOf(handled: Handled) {
  if (handled === undefined || !('start' in handled)) throw new Error('no watch');
  return handled;
}

t.test('a list has a namespace that was refused for a moment, and requests no other again', async (t) => {
  const site = startSite();
  site.faults.set('b', REFUSED);
  const list = await site.waiting('/api/v1/pods');
  site.faults.delete('b');
  t.same(listOf(await list.end()), {
    names: ['a/p1', 'a/p2', 'b/q1'],
    revision: `500${contentDigits(['a', 'b'])}`,
  });
  t.same(site.requested(), ['a', 'b', 'b']);
  t.match(site.asked[2]?.target, /resourceVersion=500&resourceVersionMatch=Exact/, 'at the same revision');
});

t.test(
  'a list has what is permitted when it ends: less after a revocation, more after a grant',
  async (t) => {
    const revoked = startSite();
    revoked.faults.set('b', REFUSED);
    const less = await revoked.waiting('/api/v1/pods');
    revoked.delete(revoked.binding('b'));
    t.same(listOf(await less.end()), { names: ['a/p1', 'a/p2'], revision: `500${contentDigits(['a'])}` });
    const granted = startSite();
    granted.faults.set('b', REFUSED);
    const more = await granted.waiting('/api/v1/pods');
    granted.put(granted.binding('c'));
    granted.faults.delete('b');
    t.same(listOf(await more.end()), {
      names: ['a/p1', 'a/p2', 'b/q1', 'c/r1'],
      revision: `500${contentDigits(['a', 'b', 'c'])}`,
    });
  },
);

t.test('a page waits too, and is 410 if the permitted namespaces change meanwhile', async (t) => {
  const site = startSite();
  const first = await site.get('/api/v1/pods?limit=1');
  const { continue: more } = JSON.parse(String(first?.body)).metadata;
  site.faults.set('b', REFUSED);
  const page = await site.waiting(`/api/v1/pods?limit=2&continue=${more}`);
  site.faults.delete('b');
  t.same(listOf(await page.end()).names, ['a/p2', 'b/q1']);
  site.faults.set('b', REFUSED);
  const late = await site.waiting(`/api/v1/pods?limit=2&continue=${more}`);
  site.delete(site.binding('b'));
  await t.rejects(late.end(), { code: 'ResourceExpired' });
});

t.test(
  'a namespace that stays permitted and refused for 3 s makes the list or watch a 503 that names it',
  async (t) => {
    for (const target of ['/api/v1/pods', '/api/v1/pods?watch=1']) {
      const site = startSite();
      for (const faults of [site.faults, site.watches.faults]) faults.set('b', REFUSED);
      const request = await site.waiting(target);
      const began = site.clock.now();
      await t.rejects(request.end(), {
        code: 'UpstreamUnavailable',
        http: 503,
        message: /refuses to (list|watch) pods in the namespace "b", .*access\.authorizers/,
        details: undefined,
      });
      t.equal(site.clock.now() - began, 3_000);
      t.equal(site.options.memory.reserved, 0);
      t.ok(site.watches.areClosed());
    }
  },
);

t.test('if all namespaces are refused, only one of them is requested again and again', async (t) => {
  const site = startSite();
  for (const name of ['a', 'b']) site.faults.set(name, REFUSED);
  const list = await site.waiting('/api/v1/pods');
  await t.rejects(list.end(), { code: 'UpstreamUnavailable', message: /"a"/ });
  t.same(site.requested(), Array(31).fill('a'));
});

t.test('a user who may list all meanwhile gets the API server’s list; a watch gets 410', async (t) => {
  const site = startSite();
  const all = rbacObject('ClusterRoleBinding all: ClusterRole/pod-reader to User acme:alice');
  for (const faults of [site.faults, site.watches.faults]) faults.set('b', REFUSED);
  const list = await site.waiting('/api/v1/pods');
  const digits = contentDigits(['a', 'b']);
  const watch = site.handle(site.outgoing(`/api/v1/pods?watch=1&resourceVersion=500${digits}`));
  site.put(all);
  t.equal(await list.end(), undefined);
  t.same(readWatch(streamOf(await watch)).events, ['ERROR 410']);
  t.ok(site.watches.areClosed());
});

t.test('a watch begins when no namespace is refused, and has lost no event of the others', async (t) => {
  const site = startSite();
  site.watches.faults.set('b', REFUSED);
  const watch = await site.waiting('/api/v1/pods?watch=1');
  site.watches.send('a', event('ADDED', 'a', 'p', 6));
  site.watches.faults.delete('b');
  const client = readWatch(streamOf(await watch.end()));
  site.watches.send('b', event('ADDED', 'b', 'q', 7));
  await client.until(['ADDED a/p', 'ADDED b/q']);
  t.equal(site.watches.opened.filter(({ namespace }) => namespace === 'a').length, 1);
  client.leave();
});

t.test(
  'if the permitted namespaces change before a watch begins, it is of those that are permitted now, or 410',
  async (t) => {
    const site = startSite();
    site.watches.faults.set('b', REFUSED);
    const begun = await site.waiting('/api/v1/pods?watch=1');
    site.delete(site.binding('a'));
    site.watches.faults.delete('b');
    const client = readWatch(streamOf(await begun.end()));
    site.watches.send('b', event('ADDED', 'b', 'q', 7));
    await client.until(['ADDED b/q']);
    t.ok(site.watches.latest('a').destroyed);
    client.leave();
    site.put(site.binding('a'));
    site.watches.faults.set('b', REFUSED);
    const resumed = await site.waiting(
      `/api/v1/pods?watch=1&resourceVersion=500${contentDigits(['a', 'b'])}`,
    );
    site.delete(site.binding('b'));
    t.same(readWatch(streamOf(await resumed.end())).events, ['ERROR 410']);
    t.ok(site.watches.areClosed());
  },
);

t.test('a client that leaves meanwhile ends the wait, and leaves nothing open', async (t) => {
  for (const target of ['/api/v1/pods', '/api/v1/pods?watch=1']) {
    const site = startSite();
    for (const faults of [site.faults, site.watches.faults]) faults.set('b', REFUSED);
    const exchange = fakeExchange({ target });
    const answer = site.handle(outgoingOf(site.mode, keystoneIdentity('alice'), exchange));
    answer.catch(() => {});
    await eventually(() => site.clock.pending > 0);
    exchange.leave();
    await t.rejects(answer, { message: /cancelled/ });
    t.equal(site.options.memory.reserved, 0);
    t.ok(site.watches.areClosed());
  }
});
