import t, { type Test } from 'tap';
import { parse } from 'yaml';
import {
  createPublishedChanges,
  namespaceFingerprint,
} from '../../../../src/features/publishing/published-changes.ts';
import { silentLogger } from '../../../../src/lib/logger.ts';
import { noTelemetry } from '../../../../src/lib/telemetry.ts';
import { TENANCY_FACTS } from '../../../../src/tenancy/facts.ts';
import { eventually } from '../../../support/eventually.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { scriptedResource } from '../../../support/scripted-resource.ts';

function follow(t: Test) {
  const clock = createFakeClock(1_000_000);
  const scripted = scriptedResource();
  let changes = 0;
  const read: string[] = [];
  const followed = createPublishedChanges({
    watched: [
      {
        kind: parse("{group: '', version: v1, resource: configmaps, namespaced: true}"),
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
    object,
    changes: () => changes,
    /** Sends events, and waits until they are read. */
    async send(...events: readonly object[]) {
      const watch = await scripted.watch(1);
      const before = read.length;
      for (const event of events) watch.send(event);
      await eventually(() => read.length === before + events.length);
    },
  };
}

t.test('an object that is created, updated or deleted is a change', async (t) => {
  const { send, object, changes } = follow(t);
  for (const [at, type] of ['ADDED', 'MODIFIED', 'DELETED'].entries()) {
    await send({ type, object: object('a', `${11 + at}`) });
    t.equal(changes(), at + 1);
  }
});

t.test('an object that is not published is not a change', async (t) => {
  const { send, object, changes } = follow(t);
  for (const type of ['ADDED', 'DELETED']) await send({ type, object: object('a', '11', { plain: true }) });
  t.equal(changes(), 0);
});

const labelled = (labels: object, more: object = {}) => ({
  metadata: { name: 'web', uid: 'u', labels, ...more },
});
const OWN = { 'stonegate.dev/managed-by': 'stonegate', 'stonegate.dev/domain-id': 'd' };

t.test('labels that tenants may set on their namespaces cause no run', (t) => {
  const rules = { namespaces: ['shared'] };
  for (const mode of ['arktos', 'shared'] as const)
    t.equal(
      namespaceFingerprint(labelled({ team: 'a' }), { ...rules, facts: TENANCY_FACTS[mode] }),
      undefined,
      mode,
    );
  const shared = (object: object) => namespaceFingerprint(object, { ...rules, facts: TENANCY_FACTS.shared });
  t.equal(shared(labelled({ ...OWN, team: 'a' })), shared(labelled({ ...OWN, team: 'b' })));
  const arktos = (object: object) => namespaceFingerprint(object, { ...rules, facts: TENANCY_FACTS.arktos });
  t.equal(arktos(labelled(OWN)), undefined, 'its name is not that of a namespace of sources');
  t.equal(arktos(labelled({ a: 'b' }, { name: 'shared' })), arktos(labelled({}, { name: 'shared' })));
  t.end();
});

t.test('a namespace that is created, changes its owner or is deleted causes a run', (t) => {
  const rules = { namespaces: ['shared'], facts: TENANCY_FACTS.shared };
  const fingerprints = [
    labelled(OWN),
    labelled({ ...OWN, 'stonegate.dev/domain-id': 'e' }),
    labelled(OWN, { uid: 'v' }),
    labelled(OWN, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    labelled({}, { name: 'shared' }),
    labelled({}),
  ].map((object) => namespaceFingerprint(object, rules));
  t.equal(new Set(fingerprints).size, fingerprints.length);
  t.end();
});
