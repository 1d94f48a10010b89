/** The RBAC index as Stonegate keeps it, following a real kube-apiserver by list and watch. */
import type { Test } from 'tap';
import { TrackedIndex } from '../../../src/access/index-state.ts';
import { commandRuntime } from '../../../src/app/build.ts';
import { createRBACWatches } from '../../../src/clients/rbac-watches.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { createUpstream } from '../../../src/upstream/upstream.ts';
import { eventually } from '../eventually.ts';
import type { Kubernetes } from './api-server.ts';

const SECONDS = 1_000;
const LIMITS = { tenantQueue: { requests: 16, bytes: 65_536 }, sources: 1 };

/** Resolves when it is synced; until the test ends. Start the server's teardown before. */
export async function followRBAC(t: Pick<Test, 'teardown'>, kubernetes: Kubernetes): Promise<RBACIndex> {
  const { certificate } = kubernetes.admin;
  if (certificate === undefined) throw new TypeError('the administrator has no certificate');
  const runtime = commandRuntime();
  const index = new RBACIndex();
  const upstream = createUpstream({
    ...runtime,
    server: kubernetes.url,
    ca: kubernetes.authority.cert,
    credential: { cert: Buffer.from(certificate.cert), key: Buffer.from(certificate.key) },
    timeouts: { connect: 10 * SECONDS, response: 30 * SECONDS, body: 30 * SECONDS },
    maxBodyBytes: 1_000_000,
    limits: LIMITS,
  });
  const watches = createRBACWatches({
    ...runtime,
    tracked: new TrackedIndex({ index, clock: runtime.clock }),
    hasTenants: false,
    upstream: () => upstream,
  });
  watches.start();
  t.teardown(async () => {
    await watches.stop();
    await upstream.destroy();
  });
  await eventually(() => index.isSynced);
  return index;
}
