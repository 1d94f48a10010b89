/**
 * Which writes the proxy sends to an Arktos API server a few at a time: those that the admission webhook of
 * the configuration reviews. Without the section `admission` there are none.
 */

import type { Build, RuntimeDependencies } from '../config/build.ts';
import { ComponentType } from '../config/component.ts';
import type { LoadedConfiguration } from '../config/load.ts';
import { createReviewPaths, type ReviewPathOf } from '../features/admission/reviewed-writes.ts';
import { countedWrites } from '../features/quota/counted-writes.ts';
import { readRequestInfo } from '../proxy/request/request-info.ts';
import { createReviewedWrites, type ReviewedWrites } from '../upstream/reviewed-writes.ts';

const REVIEWED_WRITES = new ComponentType<ReviewedWrites>('writes that the admission webhook reviews', {
  dispose: (writes) => writes.destroy(),
});

/** Undefined if writes need not wait. */
export function reviewPathsOf({ configuration }: LoadedConfiguration): ReviewPathOf | undefined {
  const { admission, publishing, tenancy, quota } = configuration;
  if (tenancy.mode !== 'arktos' || admission === undefined) return undefined;
  const others = quota === undefined ? [] : countedWrites(quota.count);
  return createReviewPaths({ admission, ...(publishing && { publishing }) }, others);
}

/** One for all upstreams of a serving process. */
export function createServedReviewedWrites({
  loaded,
  generation,
  runtime,
}: Build): ReviewedWrites | undefined {
  const { upstream, limits, admission, publishing, tenancy, quota } = loaded.configuration;
  const options = optionsOf(loaded);
  return (
    options &&
    generation.component(REVIEWED_WRITES, {
      fingerprint: [
        tenancy.mode,
        upstream.timeouts.response,
        limits.tenantQueue,
        admission?.systemKinds,
        publishing?.kinds,
        publishing?.clusterScoped.map(({ kind }) => kind),
        quota?.count,
      ],
      create: () => createReviewedWrites({ ...runtime, ...options }),
    })
  );
}

/** Commands that end by themselves use it: it belongs to no generation. */
export function createCommandReviewedWrites(
  loaded: LoadedConfiguration,
  runtime: RuntimeDependencies,
): ReviewedWrites | undefined {
  const options = optionsOf(loaded);
  return options && createReviewedWrites({ ...runtime, ...options });
}

function optionsOf(loaded: LoadedConfiguration) {
  const { upstream, limits } = loaded.configuration;
  const pathOf = reviewPathsOf(loaded);
  return (
    pathOf && {
      queueTimeout: upstream.timeouts.response,
      tenantQueue: limits.tenantQueue,
      pathOf(method: string, target: string) {
        if (method === 'GET' || method === 'HEAD') return undefined;
        const info = readRequestInfo(method, target, { readsTenantFromPath: true });
        return info.isResourceRequest ? pathOf(method, info) : undefined;
      },
    }
  );
}
