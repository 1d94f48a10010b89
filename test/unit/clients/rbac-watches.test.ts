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
async function site(t: Test) {
  const clock = createFakeClock(1_000_000);
  const index = new RBACIndex();
  const server = { revision: 10 };
  const requests: string[] = [];
  const lists: string[] = [];
  const open: { readonly target: string; readonly body: PassThrough }[] = [];
  const tracked = new TrackedIndex({ index, clock });
  const watches = createRBACWatches({
    tracked,
    hasTenants: false,
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
