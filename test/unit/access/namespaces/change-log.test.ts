/** What a watch that goes on from a revision is told, and when it must begin anew. */
import t from 'tap';
import { ChangeLog } from '../../../../src/access/namespaces/change-log.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { indexOf, namespace, nextRevision, roleBinding, user } from '../../../support/rbac-objects.ts';

function setUp(size?: number) {
  const index = indexOf(namespace('a'));
  const stopped = new AbortController();
  const log = new ChangeLog({
    index,
    clock: createFakeClock(),
    stopped: stopped.signal,
    ...(size !== undefined && { size }),
  });
  return { index, log, stopped, begin: index.revision };
}

t.test('the changes above a revision are told', async (t) => {
  const { index, log, begin } = setUp();
  index.put(namespace('b'));
  t.match(log.since(begin, false), [{ kind: 'namespace', name: 'b' }]);
  t.equal(log.since(begin - 1, false), undefined, 'what was before the log is not known');
});

t.test('the number of changes is bounded: a client that is too late begins anew', async (t) => {
  const { index, log, begin } = setUp(2);
  for (const name of ['b', 'c', 'd', 'e', 'f']) index.put(namespace(name));
  t.equal(log.since(begin, false), undefined);
});

t.test('bindings of many subjects do not fill the memory', async (t) => {
  const { index, log, begin } = setUp();
  const subjects = Array.from({ length: 20_000 }, (_, at) => user(`u${at}`));
  const binding = roleBinding('a', 'many', 'ClusterRole/view', subjects);
  for (let at = 0; at < 20; at += 1)
    index.put({ ...binding, subjects: at % 2 === 0 ? subjects : [], revision: nextRevision() });
  t.equal(log.since(begin, false), undefined);
  t.ok((log.since(index.revisionOf('rolebindings') ?? 0, false)?.length ?? 0) <= 10);
});

t.test('patches of a large namespace do not fill the memory', async (t) => {
  const { index, log, begin } = setUp();
  const large = namespace('large');
  for (let at = 0; at < 100; at += 1)
    index.put({ ...large, json: 'x'.repeat(100_000), revision: nextRevision() });
  const stored = log.since(begin, false) ?? [];
  t.equal(stored.length, 100);
  t.ok(JSON.stringify(stored).length < 100 * 200, 'the objects are not stored');
});

t.test('after the storage was restored from a backup every client begins anew', async (t) => {
  const { index, log, begin } = setUp();
  const added = namespace('b');
  index.put(added);
  index.replace('namespaces', [], begin - 10);
  t.equal(log.since(begin - 11, false), undefined);
  t.notOk(log.since(added.revision, false)?.some(({ revision }) => revision === added.revision));
});

t.test('a log that has ended learns nothing more', async (t) => {
  const { index, log, begin, stopped } = setUp();
  stopped.abort();
  index.put(namespace('b'));
  t.same(log.since(begin, false), []);
});
