import t, { type Test } from 'tap';
import { createPublishedChanges } from '../../../../src/features/publishing/published-changes.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { scriptedResource } from '../../../support/scripted-resource.ts';

const GATHERED = 100;

function follow(t: Test) {
  const clock = createFakeClock(1_000_000);
  const scripted = scriptedResource();
  let changes = 0;
  const read: string[] = [];
  const followed = createPublishedChanges({
    watched: [
      {
        kind: { group: '', version: 'v1', resource: 'configmaps', namespaced: true },
        place: { namespace: 'shared' },
        fingerprint(value) {
          const { metadata }: { metadata: { name: string; resourceVersion: string; plain?: boolean } } =
            JSON.parse(JSON.stringify(value));
          read.push(metadata.name);
          return metadata.plain === true ? undefined : `${metadata.name} ${metadata.resourceVersion}`;
        },
      },
    ],
    upstream: scripted.upstream,
    onChange: () => {
      changes += 1;
    },
    clock,
    random: { bytes: (size) => Buffer.alloc(size), uuid: () => '', fraction: () => 0.5 },
    logger: silentLogger,
    telemetry: noTelemetry,
  });
  t.teardown(() => followed.stop());
  followed.start();
  const object = (name: string, resourceVersion: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shared', resourceVersion, ...more },
  });
  return {
    clock,
    object,
    changes: () => changes,
    /** Sends events, and waits until they are read and what they change is told. */
    async send(...events: readonly object[]) {
      const watch = await scripted.watch(1);
      const before = read.length;
      const puts = events.filter((event) => !('type' in event && event.type === 'DELETED'));
      for (const event of events) watch.send(event);
      await eventually(() => read.length >= before + puts.length && clock.untilNext <= GATHERED);
      clock.advance(GATHERED);
    },
  };
}

t.test('many events in a short time are one change', async (t) => {
  const { send, object, changes } = follow(t);
  await send(
    { type: 'ADDED', object: object('a', '11') },
    { type: 'MODIFIED', object: object('a', '12') },
    { type: 'ADDED', object: object('b', '13') },
  );
  t.equal(changes(), 1);
  await send({ type: 'DELETED', object: object('a', '14') });
  t.equal(changes(), 2, 'a deletion is a change');
});

t.test('an object that does not count is no change', async (t) => {
  const { send, object, changes } = follow(t);
  await send({ type: 'ADDED', object: object('a', '11', { plain: true }) });
  t.equal(changes(), 0);
});
