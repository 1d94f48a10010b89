/** How soon the RBAC index of a real kube-apiserver proves that it is complete, although nothing changes. */
import t, { type Test } from 'tap';
import { TrackedIndex } from '../../src/access/index-state.ts';
import { createRBACWatches } from '../../src/clients/rbac-watches.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { noTelemetry } from '../../src/lib/telemetry.ts';
import { RBACIndex } from '../../src/rbac/rbac-index.ts';
import { createUpstream } from '../../src/upstream/upstream.ts';
import { eventually } from '../support/eventually.ts';
import { type Kubernetes, startKubernetes } from '../support/kubernetes/api-server.ts';
import { missingKubernetes } from '../support/kubernetes/programs.ts';

async function follow(t: Test, kubernetes: Kubernetes, listedAtOnce: number): Promise<TrackedIndex> {
  const { certificate } = kubernetes.admin;
  if (certificate === undefined) throw new Error('the administrator has a certificate');
  const runtime = { clock: systemClock, random: systemRandom, logger: silentLogger, telemetry: noTelemetry };
  const upstream = createUpstream({
    ...runtime,
    server: kubernetes.url,
    ca: kubernetes.authority.cert,
    credential: certificate,
    timeouts: { connect: 5_000, response: 60_000, body: 30_000 },
    maxBodyBytes: 1024 * 1024,
    limits: { tenantQueue: { requests: 256, bytes: 8 * 1024 * 1024 }, sources: 16 },
  });
  const tracked: TrackedIndex = new TrackedIndex({
    index: new RBACIndex(),
    clock: systemClock,
    catchUp: (revision) => watches.catchUp(revision),
  });
  const watches = createRBACWatches({
    ...runtime,
    tracked,
    hasTenants: false,
    upstream: () => upstream,
    listedAtOnce,
  });
  watches.start();
  t.teardown(async () => {
    await watches.stop();
    await upstream.destroy();
  });
  await eventually(() => tracked.index.isSynced);
  return tracked;
}

t.test('catching up', { skip: missingKubernetes() }, async (t) => {
  const kubernetes = await startKubernetes();
  t.teardown(() => kubernetes.stop());
  const { signal } = new AbortController();

  for (const [name, listedAtOnce] of [
    ['a list', 2_500],
    ['a short watch', 0],
  ] as const)
    t.test(
      `D010 a request with the revision of another resource's change is served soon, by ${name}`,
      async (t) => {
        const tracked = await follow(t, kubernetes, listedAtOnce);
        for (let round = 0; round < 3; round += 1) {
          const object = { metadata: { generateName: 'later-' } };
          const reply = await kubernetes.admit('POST', '/api/v1/namespaces', object);
          const { metadata }: { metadata: { name: string; resourceVersion: string } } = JSON.parse(
            reply.body,
          );
          t.equal(await tracked.waitFor(Number(metadata.resourceVersion), 30_000, signal), true);
          t.ok(tracked.index.objectsOf('').namespace(metadata.name));
        }
      },
    );
});
