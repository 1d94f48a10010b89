/** The five lists and watches together: what one of them learns, and what requests ask of all. */
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { TrackedIndex } from '../../../src/access/index-state.ts';
import { INDEXED_RESOURCES } from '../../../src/api/rbac-v1.ts';
import { createRBACWatches } from '../../../src/clients/rbac-watches.ts';
import { noTelemetry } from '../../../src/lib/telemetry.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { eventually } from '../../support/eventually.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** An API server without objects, at a revision. */
async function site(t: Test, { listedAtOnce = 2_500 } = {}) {
  const clock = createFakeClock(1_000_000);
  const index = new RBACIndex();
  const server = { revision: 10 };
  const requests: string[] = [];
  const lists: string[] = [];
  const open: { readonly target: string; readonly body: PassThrough }[] = [];
  const tracked: TrackedIndex = new TrackedIndex({
    index,
    clock,
    catchUp: (revision) => watches.catchUp(revision),
  });
  const watches = createRBACWatches({
    tracked,
    hasTenants: false,
    listedAtOnce,
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    telemetry: { ...noTelemetry, indexListed: (resource, reason) => lists.push(`${resource} ${reason}`) },
    upstream: () => ({
      async fetch({ target }) {
        requests.push(target);
        const list = { kind: 'List', metadata: { resourceVersion: String(server.revision) }, items: [] };
        return { status: 200, headers: [], body: Buffer.from(JSON.stringify(list)) };
      },
      async stream({ target }, signal) {
        requests.push(target);
        const body = new PassThrough();
        body.on('error', () => {});
        const end = () => body.destroy(new Error('ended'));
        if (signal.aborted) end();
        signal.addEventListener('abort', end);
        open.push({ target, body });
        return { status: 200, headers: [], body };
      },
    }),
  });
  watches.start();
  t.teardown(() => watches.stop());
  await eventually(() => open.length === 5);
  return {
    tracked,
    index,
    clock,
    server,
    requests,
    lists,
    open,
    async elapse(milliseconds: number) {
      await eventually(() => clock.untilNext <= milliseconds);
      clock.advance(milliseconds);
    },
  };
}

const { signal } = new AbortController();

t.test('requests for revisions of the future are refused at once, and touch no watch', async (t) => {
  for (const listedAtOnce of [2_500, -1]) {
    const { tracked, requests, open, elapse } = await site(t, { listedAtOnce });
    const before = requests.length;
    for (let round = 1; round <= 4; round += 1) {
      const asked = Array.from({ length: 20 }, (_, at) => tracked.waitFor(1e9 + at, 3_000, signal));
      await elapse(2_000);
      t.same(new Set(await Promise.all(asked)), new Set([false]));
      t.equal(requests.length, before + round, 'one request for all of them');
    }
    t.notOk(open.some(({ body }) => body.destroyed));
  }
});

t.test('a request for a revision that the API server has reached waits for all resources', async (t) => {
  const { tracked, server, elapse, lists } = await site(t);
  server.revision = 90;
  const asked = tracked.waitFor(85, 3_000, signal);
  await elapse(50);
  t.equal(await asked, true);
  t.same(lists.slice(5).sort(), INDEXED_RESOURCES.map((resource) => `${resource} requested`).sort());
});

t.test('if one resource shows that a backup was restored, all are listed anew', async (t) => {
  const { index, server, open, lists, clock } = await site(t);
  for (const { body } of open)
    body.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"500"}}}\n');
  await eventually(() => index.revision === 500);
  server.revision = 60;
  open[0]?.body.write('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"60"}}}\n');
  await eventually(() => {
    if (clock.untilNext <= 2_000) clock.advance(2_000);
    return INDEXED_RESOURCES.every((resource) => index.revisionOf(resource) === 60);
  });
  t.same(lists.slice(5).sort(), INDEXED_RESOURCES.map((resource) => `${resource} restored`).sort());
});
