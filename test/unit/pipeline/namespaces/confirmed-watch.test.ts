/**
 * Open watches of namespaces whose names the API server confirms by reviews: a name that it comes to refuse
 * is taken from the client.
 */
import { setImmediate as tick } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import type { UserInfo } from '../../../../src/api/authentication-v1.ts';
import type { Account } from '../../../../src/api/upstream-request.ts';
import type { AccessReviewer } from '../../../../src/authorization/access-reviewer.ts';
import { StatusError } from '../../../../src/errors/status-error.ts';
import type { LogFields } from '../../../../src/lib/logger.ts';
import { keystoneIdentity } from '../../../support/identities.ts';
import { namespacesSite } from '../../../support/namespaces-site.ts';
import { clusterRole, namespace, roleBinding, user } from '../../../support/rbac-objects.ts';

const VIEWER = clusterRole('viewer', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }]);
const BOOKMARKS = 'allowWatchBookmarks=true';
const MINUTE = 60_000;

const viewerIn = (place: string, ...names: string[]) =>
  roleBinding(
    place,
    'viewers',
    'ClusterRole/viewer',
    names.map((name) => user(`acme:${name}`)),
  );

/** Alice and bob see the namespaces by the index. */
function confirmingSite(places: readonly string[]) {
  const refused = new Set<string>();
  const asked: string[] = [];
  const accounts = new Set<string>();
  let underWay = 0;
  let most = 0;
  /** What a review of a name waits for, or fails with. */
  let before = async (_name: string): Promise<void> => tick();
  const reviewer: AccessReviewer = {
    async review({ username }: UserInfo, attributes, account: Account) {
      accounts.add(JSON.stringify(account));
      const { verb = '', name = '' } =
        'resourceAttributes' in attributes ? attributes.resourceAttributes : {};
      if (verb !== 'get') return { allowed: false };
      asked.push(name);
      const allowed = !refused.has(name) && !refused.has(`${username} ${name}`);
      underWay += 1;
      most = Math.max(most, underWay);
      try {
        await before(name);
      } finally {
        underWay -= 1;
      }
      return { allowed };
    },
    reviewSelf: async () => ({ allowed: false }),
  };
  const objects = places.flatMap((place) => [namespace(place), viewerIn(place, 'alice', 'bob')]);
  const warnings: { readonly fields: LogFields; readonly message: string }[] = [];
  const logger = { warn: (fields: LogFields, message: string) => warnings.push({ fields, message }) };
  const site = namespacesSite([VIEWER, ...objects], { reviewer, logger });
  return {
    ...site,
    warnings,
    refused,
    asked,
    accounts,
    mostAtATime: () => most,
    /** A label of the namespace. */
    change(place: string) {
      const stored = site.index.objectsOf('').namespaces.get(place);
      if (stored === undefined) throw new Error('no namespace');
      site.put({ ...stored, labels: { changed: String(site.index.revision) } });
    },
    reviewsAwait(action: (name: string) => Promise<void>) {
      before = action;
    },
    async pass(milliseconds = MINUTE) {
      site.clock.advance(milliseconds);
      for (let turn = 0; turn < 300; turn += 1) await tick();
    },
  };
}

t.test('a name that a review refuses is DELETED from all open watches of the user', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const watches = [await site.watch('alice', BOOKMARKS), await site.watch('alice', BOOKMARKS)];
  const other = await site.watch('bob', BOOKMARKS);
  for (const watch of [...watches, other]) t.same(await watch.read(), ['ADDED a', 'ADDED b', 'BOOKMARK']);
  site.refused.add('acme:alice b');
  // A grant elsewhere: reviews from before no longer count.
  site.put(namespace('c'));
  site.put(viewerIn('c', 'alice'));
  t.same((await site.get('alice'))?.names, ['a', 'c']);
  for (const watch of watches) {
    const events = await watch.read();
    t.same(new Set(events), new Set(['ADDED c', 'DELETED b', 'BOOKMARK']));
    t.equal(events.at(-1), 'BOOKMARK');
    const gone = watch.events.find(({ type }) => type === 'DELETED');
    t.equal(gone?.resourceVersion, String(site.index.revision));
    t.notMatch(JSON.stringify(gone?.object), /uid/, 'only the name is told');
  }
  t.same(await other.read(), [], 'another user is not concerned');
  site.change('b');
  for (const watch of watches) t.same(await watch.read(), [], 'nothing that happens afterwards is told');
  t.same(await other.read(), ['MODIFIED b']);
});

t.test('a name that is allowed again is ADDED', async (t) => {
  const site = confirmingSite(['a', 'b']);
  site.refused.add('b');
  const watch = await site.watch('alice');
  t.same(await watch.read(), ['ADDED a']);
  site.refused.clear();
  await site.pass();
  t.same((await site.get('alice'))?.names, ['a', 'b']);
  t.same(await watch.read(), ['ADDED b']);
});

t.test('a watch learns of a refusal although nothing else asks', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const watch = await site.watch('alice', BOOKMARKS);
  t.same(await watch.read(), ['ADDED a', 'ADDED b', 'BOOKMARK']);
  site.refused.add('b');
  await site.pass();
  t.same((await watch.read()).slice(0, 2), ['BOOKMARK', 'DELETED b']);
  t.notOk(watch.ended);
  t.same([...site.accounts], ['{"kind":"tenant","tenant":"acme"}'], 'its tenant pays');
  watch.close();
  const { length } = site.asked;
  await site.pass();
  t.equal(site.asked.length, length, 'without a watch nothing is reviewed');
  t.equal(site.clock.pending, 1, 'only the cache of visible namespaces has a timer');
});

t.test('what further reviews cost is bounded for a user with many watches and namespaces', async (t) => {
  const places = Array.from({ length: 250 }, (_, at) => `ns-${at + 100}`);
  const site = confirmingSite(places);
  const watches = [await site.watch('alice'), await site.watch('alice'), await site.watch('alice')];
  site.asked.length = 0;
  await site.pass();
  t.equal(site.asked.length, 200);
  t.equal(new Set(site.asked).size, 200, 'each name once');
  t.ok(site.mostAtATime() <= 8);
  const rest = places.filter((place) => !site.asked.includes(place));
  site.asked.length = 0;
  site.refused.add('ns-100').add('ns-349');
  await site.pass();
  for (const name of rest) t.ok(site.asked.includes(name), 'those that were reviewed longest ago come first');
  await site.pass();
  for (const watch of watches) {
    const events = await watch.read();
    t.same(events.slice(250).sort(), ['DELETED ns-100', 'DELETED ns-349']);
  }
});

t.test('a client that is behind is told when it reads', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const watch = await site.watch('alice', BOOKMARKS);
  await watch.read();
  watch.stream.pause();
  site.change('b');
  site.refused.add('b');
  await site.pass();
  t.same(await watch.read(), []);
  t.ok(watch.stream.held > 0);
  site.refused.clear();
  await site.pass();
  await site.get('alice');
  watch.stream.resume();
  t.same(await watch.read(), ['DELETED b', 'ADDED b', 'BOOKMARK']);
  t.equal(watch.stream.held, 0);
});

t.test('no bookmark passes while a new name is being reviewed', async (t) => {
  const list = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&${BOOKMARKS}`;
  for (const query of [BOOKMARKS, list]) {
    const site = confirmingSite(['a']);
    const answer = site.watch('alice', query);
    const watch = await answer;
    await watch.read();
    const slow = Promise.withResolvers<void>();
    site.reviewsAwait(() => slow.promise);
    site.put(namespace('c'));
    site.put(viewerIn('c', 'alice'));
    site.change('a');
    site.clock.advance(MINUTE);
    t.same(await watch.read(), ['MODIFIED a'], 'a client that resumes from it would never learn the name');
    slow.resolve();
    t.same(await watch.read(), ['ADDED c', 'BOOKMARK']);
  }
});

t.test('a refusal between the reviews of a watch and its first event', async (t) => {
  for (const query of ['watch=1', 'watch=1&resourceVersion=NOW']) {
    const site = confirmingSite(['a', 'b']);
    const target = `/api/v1/namespaces?${query.replace('NOW', String(site.index.revision))}`;
    await site.get('alice');
    const answer = await site.answerer.answer(site.outgoing('alice', target));
    if (answer === undefined || 'body' in answer) throw new TypeError('it is no watch');
    site.refused.add('b');
    await site.pass();
    t.same((await site.get('alice'))?.names, ['a']);
    const lines: string[] = [];
    const stop = answer.start({
      closed: false,
      isWritable: true,
      write: (text) => lines.push(...text.toString().split('\n').slice(0, -1)),
      onDrain() {},
      holds: () => true,
      end() {},
      fail() {},
    });
    await tick();
    const types = lines.map((line) => `${JSON.parse(line).type} ${JSON.parse(line).object.metadata.name}`);
    t.same(types, query === 'watch=1' ? ['ADDED a'] : ['DELETED b']);
    stop();
  }
});

t.test('an answer that began earlier does not undo a later refusal', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const watch = await site.watch('alice');
  await watch.read();
  site.clock.advance(MINUTE);
  const slow = Promise.withResolvers<void>();
  site.reviewsAwait(() => slow.promise);
  const early = site.get('alice');
  await tick();
  site.reviewsAwait(async () => {});
  site.refused.add('b');
  t.same((await site.get('alice'))?.names, ['a']);
  t.same(await watch.read(), ['DELETED b']);
  slow.resolve();
  t.same((await early)?.names, ['a']);
  t.same(await watch.read(), []);
});

t.test('a confirming review that fails breaks the watch off, with its error for the log', async (t) => {
  const site = confirmingSite(['a']);
  const watch = await site.watch('alice');
  await watch.read();
  const error = new StatusError('UpstreamUnavailable', 'the API server cannot be reached');
  site.reviewsAwait(() => Promise.reject(error));
  site.put(namespace('c'));
  site.put(viewerIn('c', 'alice'));
  t.same(await watch.read(), []);
  t.equal(watch.stream.error, error);
});

t.test('a further review that fails', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const watch = await site.watch('alice');
  await watch.read();
  site.refused.add('b');
  const refusal = new StatusError('TenantRateExceeded', 'too many requests');
  site.reviewsAwait(() => Promise.reject(refusal));
  await site.pass();
  t.same(await watch.read(), []);
  t.notOk(watch.ended, 'is repeated after a minute');
  t.match(site.warnings, [{ fields: { tenant: 'acme', error: refusal }, message: /reviewed again/ }]);
  site.reviewsAwait(async () => {});
  await site.pass();
  t.same(await watch.read(), ['DELETED b']);

  const error = new TypeError('a defect');
  site.reviewsAwait(() => Promise.reject(error));
  await site.pass();
  t.equal(watch.stream.error, error, 'an unexpected error ends the watch, and reaches the log');
});

t.test('if the client leaves whose credential reviews, another one’s does', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const first = await site.watch('alice');
  const second = await site.watch('alice');
  await second.read();
  site.refused.add('b');
  site.reviewsAwait(async () => {
    if (first.ended) return;
    first.close();
    throw new StatusError('UpstreamUnavailable', 'the client is gone');
  });
  await site.pass();
  t.same(await second.read(), ['DELETED b']);
});

t.test('open watches of more users than reviews are stored of are told', async (t) => {
  const site = confirmingSite(['a', 'b']);
  const as = (uid: number) => ({ ...keystoneIdentity('alice'), uid: String(uid) });
  const watches = [];
  for (let uid = 0; uid < 40; uid += 1) watches.push(await site.watch(as(uid)));
  site.refused.add('b');
  await site.pass();
  for (const watch of watches) t.same(await watch.read(), ['ADDED a', 'ADDED b', 'DELETED b']);
});

const PLACES = ['a', 'b', 'c'];
const place = fc.constantFrom(...PLACES);
const step = fc.oneof(
  fc.record({ kind: fc.constant('refuse' as const), place }),
  fc.record({ kind: fc.constant('allow' as const), place }),
  fc.record({ kind: fc.constant('grant' as const), place }),
  fc.record({ kind: fc.constant('revoke' as const), place }),
  fc.record({ kind: fc.constant('change' as const), place }),
  fc.record({ kind: fc.constant('anew' as const), place }),
  fc.constant({ kind: 'pause' as const, place: 'a' }),
  fc.constant({ kind: 'resume' as const, place: 'a' }),
);

t.test('property: after each list, an open watch has told the same names', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const site = confirmingSite(PLACES);
      site.reviewsAwait(async () => {});
      const watch = await site.watch('alice', BOOKMARKS);
      for (const { kind, place } of steps) {
        if (kind === 'refuse') site.refused.add(place);
        else if (kind === 'allow') site.refused.delete(place);
        else if (kind === 'grant') site.put(viewerIn(place, 'alice'));
        else if (kind === 'revoke') site.delete(viewerIn(place));
        else if (kind === 'change') site.change(place);
        else if (kind === 'anew') site.put(namespace(place));
        else if (kind === 'pause') watch.stream.pause();
        else watch.stream.resume();
        await tick();
      }
      // The reviews of before no longer count.
      site.put(namespace('last'));
      site.put(viewerIn('last', 'alice'));
      const list = await site.get('alice');
      watch.stream.resume();
      await watch.read();
      const shown = new Set<string>();
      for (const { type, name } of watch.events) {
        if (type === 'BOOKMARK') continue;
        if (type === 'ADDED' && shown.has(name)) throw new Error(`${name} is ADDED twice`);
        if (type !== 'ADDED' && !shown.has(name)) throw new Error(`${name} is ${type}, and was never ADDED`);
        if (type === 'DELETED') shown.delete(name);
        else shown.add(name);
      }
      t.same([...shown].sort(), list?.names);
      watch.close();
    }),
    { numRuns: 200 },
  );
});
