/** The RBAC index of Stonegate, following a real kube-apiserver by list and watch. */
import type { Test } from 'tap';
import { createRBACInformers } from '../../../src/features/rbac-index/rbac-informers.ts';
import { commandRuntime } from '../../../src/lib/runtime.ts';
import { RBACIndex } from '../../../src/rbac/rbac-index.ts';
import { eventually } from '../eventually.ts';
import { adminUpstream } from './admin-upstream.ts';
import type { Kubernetes } from './api-server.ts';

/** Resolves when the index is synced; ends with the test. Register the server's teardown first. */
export async function followRBAC(t: Pick<Test, 'teardown'>, kubernetes: Kubernetes): Promise<RBACIndex> {
  const runtime = commandRuntime();
  const index = new RBACIndex();
  const upstream = adminUpstream(t, kubernetes);
  const informers = createRBACInformers({ ...runtime, index, inTenants: false, upstream });
  informers.start();
  t.teardown(() => informers.stop());
  await eventually(() => index.isSynced);
  return index;
}
