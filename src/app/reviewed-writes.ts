/**
 * Which writes the proxy sends to an Arktos API server a few at a time: those that the admission webhook of
 * the configuration reviews. Without the section `admission` there are none.
 */

import { ComponentType, type Handle } from '../config/component.ts';
import { createReviewPaths, type ReviewPathOf } from '../features/admission/reviewed-writes.ts';
import { countedWrites } from '../features/quota/counted-writes.ts';
import { readRequestInfo } from '../proxy/request/request-info.ts';
import { createReviewedWrites, type ReviewedWrites } from '../upstream/reviewed-writes.ts';
import type { StonegateBuild, StonegateConfiguration } from './configuration.ts';

const REVIEWED_WRITES = new ComponentType<ReviewedWrites>('writes that the admission webhook reviews', {
  dispose: (writes) => writes.destroy(),
});

/** Undefined if writes need not wait. */
export function reviewPathsOf({
  admission,
  publishing,
  tenancy,
  quota,
}: StonegateConfiguration): ReviewPathOf | undefined {
  if (!tenancy.facts.throttlesWebhooks || admission === undefined) return undefined;
  const others = quota === undefined ? [] : countedWrites(quota.count);
  return createReviewPaths({ admission, ...(publishing && { publishing }) }, others);
}

/** All upstreams of a generation share it. @returns undefined if no write has to wait */
export function createConfiguredReviewedWrites({
  loaded,
  generation,
  runtime,
}: StonegateBuild): Handle<ReviewedWrites> | undefined {
  const { upstream, limits, admission, publishing, tenancy, quota } = loaded.configuration;
  const pathOf = reviewPathsOf(loaded.configuration);
  if (pathOf === undefined) return undefined;
  const queueTimeout = upstream.timeouts.response;
  const { tenantQueue } = limits;
  return generation.component(REVIEWED_WRITES, {
    fingerprint: [
      tenancy.mode,
      queueTimeout,
      tenantQueue,
      admission?.systemKinds,
      publishing?.kinds,
      publishing?.clusterScoped.map(({ kind }) => kind),
      quota?.count,
    ],
    create: () =>
      createReviewedWrites({
        ...runtime,
        ...{ queueTimeout, tenantQueue },
        pathOf(method, target) {
          if (method === 'GET' || method === 'HEAD') return undefined;
          const info = readRequestInfo(method, target, tenancy.facts);
          return info.isResourceRequest ? pathOf(method, info) : undefined;
        },
      }),
  });
}
