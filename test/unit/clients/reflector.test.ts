import t, { type Test } from 'tap';
import { Reflector } from '../../../src/clients/reflector.ts';
import { StatusError } from '../../../src/errors/status-error.ts';
import type { LogFields } from '../../../src/lib/logger.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { DOWN, scriptedResource } from '../../support/scripted-resource.ts';

/** More than any pause between two attempts. */
const A_WHILE = 31_000;
const LIST_INTERVAL = 60_000;

function follow(t: Test, bounds = { objects: 100, bytes: 100_000 }) {
  const clock = createFakeClock(1_000_000);
  const scripted = scriptedResource();
  const failures: string[] = [];
  const log: { level: string; fields: LogFields; message: string }[] = [];
  const at = (level: string) => (fields: LogFields, message: string) =>
    void log.push({ level, fields, message });
  let updates = 0;
  const reflector = new Reflector({
    apiGroup: 'example.com',
    resource: 'things',
    path: '/apis/example.com/v1/tenants/all/things',
    follower: 'the test',
    read: (value) => {
      const { metadata, ignored }: { metadata: { tenant?: string; name: string }; ignored?: boolean } =
        JSON.parse(JSON.stringify(value));
      return ignored ? undefined : `${metadata.tenant ?? ''}/${metadata.name}`;
    },
    bounds,
    upstream: () => scripted.upstream,
    onUpdate: () => {
      updates += 1;
    },
    onFailure: (failure) => failures.push(failure),
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  });
  const running = { ended: Promise.resolve() };
  t.teardown(async () => {
    reflector.stop();
    await running.ended;
  });
  return {
    ...scripted,
    clock,
    failures,
    log,
    reflector,
    get updates() {
      return updates;
    },
    start() {
      running.ended = reflector.run();
    },
    async elapse(milliseconds: number) {
      await eventually(() => clock.untilNext <= milliseconds);
      clock.advance(milliseconds);
    },
  };
}

let revision = 100;
function thing(name: string, tenant = 'acme', more: object = {}): object {
  revision += 1;
  return { metadata: { name, tenant, resourceVersion: String(revision) }, ...more };
}

t.test('objects are listed page by page, then watched', async (t) => {
  const api = follow(t);
  api.listWith({ items: [thing('a')], next: 'more/=' }, { items: [thing('b', 'globex')] });
  api.start();
  const watch = await api.watch(1);
  t.same(api.lists, [
    '/apis/example.com/v1/tenants/all/things?limit=500',
    '/apis/example.com/v1/tenants/all/things?limit=500&continue=more%2F%3D',
  ]);
  t.same(api.reflector.objects, ['acme/a', 'globex/b']);
  t.equal(watch.query.get('resourceVersion'), '10');
  watch.send({ type: 'ADDED', object: thing('c') });
  watch.send({ type: 'DELETED', object: thing('a') });
  await eventually(() => api.updates === 3);
  t.same([...api.reflector.objects].sort(), ['acme/c', 'globex/b']);
});

t.test('objects of the same name in two tenants are two', async (t) => {
  const api = follow(t);
  api.listWith({ items: [thing('a'), thing('a', 'globex')] });
  api.start();
  await api.watch(1);
  t.same(api.reflector.objects, ['acme/a', 'globex/a']);
});

t.test('an object that becomes of no interest is left out', async (t) => {
  const api = follow(t);
  api.listWith({ items: [thing('a')] });
  api.start();
  (await api.watch(1)).send({ type: 'MODIFIED', object: thing('a', 'acme', { ignored: true }) });
  await eventually(() => api.reflector.objects.length === 0);
});

t.test('it is listed again after a minute, whatever the watch says', async (t) => {
  const api = follow(t);
  api.start();
  const first = await api.watch(1);
  t.equal(api.reflector.provenAt, 1_000_000);
  api.listWith({ items: [thing('restored')], revision: '5' });
  await api.elapse(LIST_INTERVAL);
  const second = await api.watch(2);
  t.ok(first.isClosed);
  t.equal(second.query.get('resourceVersion'), '5', 'a lower revision: a backup was restored');
  t.same(api.reflector.objects, ['acme/restored']);
  t.equal(api.reflector.provenAt, 1_000_000 + LIST_INTERVAL);
  t.same(api.failures, []);
});

const ENDS: Readonly<Record<string, object | string>> = {
  'an expired revision': { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
  'another error': { type: 'ERROR', object: { kind: 'Status', code: 500, message: 'etcd' } },
  garbage: '<html>\n',
  'an event without an object': { type: 'DELETED' },
};
for (const [name, event] of Object.entries(ENDS))
  t.test(`${name} in a watch is followed by a new list`, async (t) => {
    const api = follow(t);
    api.listWith({ items: [thing('a')] }, { items: [thing('b')] });
    api.start();
    (await api.watch(1)).send(event);
    await eventually(() => api.failures.length === 1);
    t.same(api.reflector.objects, ['acme/a'], 'what is known stays known');
    await api.elapse(A_WHILE);
    await api.watch(2);
    t.same(api.reflector.objects, ['acme/b']);
  });

t.test('an object that cannot be told from others is left out, and the others count', async (t) => {
  const api = follow(t);
  api.listWith({ items: [{ metadata: {} }, thing('a'), { metadata: { name: 'b' } }] });
  api.start();
  const watch = await api.watch(1);
  t.same(api.reflector.objects, ['acme/a']);
  watch.send({ type: 'ADDED', object: { metadata: { name: 7 } } });
  watch.send({ type: 'ADDED', object: thing('c') });
  await eventually(() => api.reflector.objects.length === 2);
});

const DOWNS: Readonly<Record<string, number | string | Error>> = {
  unreachable: DOWN,
  refused: 403,
  status: 500,
  garbage: '<html>',
  expired: 410,
};
for (const [failure, response] of Object.entries(DOWNS))
  t.test(`a list that fails (${failure}) is repeated, and proves nothing`, async (t) => {
    const api = follow(t);
    api.listWith(response);
    api.start();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await eventually(() => api.failures.length === attempt);
      await api.elapse(A_WHILE);
    }
    t.same([...new Set(api.failures)], [failure]);
    t.equal(api.reflector.provenAt, undefined);
    const told = api.log.filter(({ level }) => level === 'warn' || level === 'error');
    t.ok(told.length > 0 && told.length < 6, 'it is logged once a minute');
    api.listWith({ items: [thing('a')] });
    await eventually(() => {
      if (api.watches.length === 0 && api.clock.untilNext <= A_WHILE) api.clock.advance(A_WHILE);
      return api.watches.length > 0;
    });
    t.same(api.reflector.objects, ['acme/a']);
    t.match(api.log.at(-1), { level: 'info', message: 'the test follows the API server again' });
  });

t.test('attempts are spaced up to 30 seconds apart', async (t) => {
  const api = follow(t);
  api.listWith(new StatusError('UpstreamTimeout', 'slow'));
  api.start();
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    await eventually(() => api.lists.length === attempt && api.clock.pending === 1);
    pauses.push(api.clock.untilNext);
    api.clock.advance(api.clock.untilNext);
  }
  t.same(pauses, [750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500]);
});

t.test('watches that end as soon as they begin are not repeated at once', async (t) => {
  const api = follow(t);
  api.start();
  (await api.watch(1)).end();
  await eventually(() => api.clock.untilNext === 1_000);
  t.equal(api.lists.length, 1);
});

t.test('a watch that is refused or breaks off is followed by a list', async (t) => {
  const api = follow(t);
  api.refuseWatches(500, DOWN);
  api.start();
  await eventually(() => api.failures.length === 1);
  await api.elapse(A_WHILE);
  await eventually(() => api.failures.length === 2);
  await api.elapse(A_WHILE);
  (await api.watch(1)).breakOff();
  await eventually(() => api.failures.length === 3);
  await api.elapse(A_WHILE);
  await api.watch(2);
  t.equal(api.lists.length, 4);
});

t.test('a tenant with too many objects has none of them, and others all of theirs', async (t) => {
  const api = follow(t, { objects: 2, bytes: 100_000 });
  api.listWith(
    { items: [thing('a'), thing('b'), thing('c'), thing('d'), thing('x', 'globex')] },
    { items: [thing('a')] },
  );
  api.start();
  const watch = await api.watch(1);
  t.same(api.reflector.objects, ['globex/x']);
  t.match(api.log, [{ level: 'warn', fields: { tenant: 'acme' } }], 'which is logged once');
  watch.send({ type: 'DELETED', object: thing('a') });
  watch.send({ type: 'MODIFIED', object: thing('b') });
  await eventually(() => api.updates === 3);
  t.same(api.reflector.objects, ['globex/x'], 'until the next list');
  await api.elapse(LIST_INTERVAL);
  await api.watch(2);
  t.same(api.reflector.objects, ['acme/a']);
});

t.test('so has a tenant with too large objects, also by a watch', async (t) => {
  const api = follow(t, { objects: 100, bytes: 1_000 });
  api.listWith({ items: [thing('a'), thing('x', 'globex')] });
  api.start();
  const watch = await api.watch(1);
  watch.send({ type: 'MODIFIED', object: thing('a', 'acme', { spec: 'x'.repeat(1_000) }) });
  await eventually(() => api.reflector.objects.length === 1);
  t.same(api.reflector.objects, ['globex/x']);
});

t.test('another credential is used at once', async (t) => {
  const api = follow(t);
  api.start();
  const first = await api.watch(1);
  api.clock.advance(5_000);
  api.reflector.reconnect();
  await api.watch(2);
  t.ok(first.isClosed);
  t.same(api.failures, []);
});

t.test('the end of the process ends what is open', async (t) => {
  const api = follow(t);
  api.listWith(new Promise(() => {}));
  api.start();
  await eventually(() => api.lists.length === 1);
  api.reflector.stop();
});
