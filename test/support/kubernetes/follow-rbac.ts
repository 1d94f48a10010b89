/** The RBAC index as Stonegate keeps it, following a real kube-apiserver by list and watch. */
import type { Test } from 'tap';
import { TrackedIndex } from '../../../src/access/index-state.ts';
import { commandRuntime } from '../../../src/app/build.ts';
import { createRBACWatches } from '../../../src/clients/rbac-watches.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { eventually } from '../eventually.ts';
import { adminUpstream } from './admin-upstream.ts';
import type { Kubernetes } from './api-server.ts';

/** Resolves when it is synced; until the test ends. Start the server's teardown before. */
export async function followRBAC(t: Pick<Test, 'teardown'>, kubernetes: Kubernetes): Promise<RBACIndex> {
  const runtime = commandRuntime();
  const index = new RBACIndex();
  const upstream = adminUpstream(t, kubernetes);
  const watches = createRBACWatches({
    ...runtime,
    tracked: new TrackedIndex({ index, clock: runtime.clock }),
    hasTenants: false,
    upstream: () => upstream,
  });
  watches.start();
  t.teardown(() => watches.stop());
  await eventually(() => index.isSynced);
  return index;
}
