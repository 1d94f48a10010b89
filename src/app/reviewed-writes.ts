/**
 * Which writes the proxy sends to an Arktos API server a few at a time: those that webhooks of features
 * review. Without the section `admission` there are none.
 */
import { ComponentType, type Handle } from '../config/component.ts';
import type { Operation, ReviewedWrite } from '../kubernetes/admissionregistration-v1.ts';
import type { ResourceRequest } from '../kubernetes/request-info.ts';
import { readRequestInfo } from '../proxy/request/request-info.ts';
import { createReviewedWrites, type ReviewedWrites } from '../upstream/reviewed-writes.ts';
import { DEFINITIONS, type StonegateBuild, type StonegateConfiguration } from './configuration.ts';

const REVIEWED_WRITES = new ComponentType<ReviewedWrites>('writes that the admission webhook reviews', {
  dispose: (writes) => writes.destroy(),
});

function writesOf(configuration: StonegateConfiguration): ReviewedWrite[] {
  const { admission, tenancy } = configuration;
  if (!tenancy.facts.throttlesWebhooks || admission === undefined) return [];
  return DEFINITIONS.flatMap((feature) => feature.reviewedWrites?.(configuration) ?? []);
}

/** Undefined if writes need not wait. */
export function reviewPathsOf(configuration: StonegateConfiguration): ReviewPathOf | undefined {
  const writes = writesOf(configuration);
  return writes.length === 0 ? undefined : createReviewPaths(writes);
}

/** All upstreams of a generation share it. @returns undefined if no write has to wait */
export function createConfiguredReviewedWrites({
  loaded,
  generation,
  runtime,
}: StonegateBuild): Handle<ReviewedWrites> | undefined {
  const { upstream, limits, tenancy } = loaded.configuration;
  const writes = writesOf(loaded.configuration);
  if (writes.length === 0) return undefined;
  const options = { queueTimeout: upstream.timeouts.response, tenantQueue: limits.tenantQueue };
  const { facts } = tenancy;
  return generation.component(REVIEWED_WRITES, {
    fingerprint: [writes, options, facts],
    create() {
      const pathOf = createReviewPaths(writes);
      return createReviewedWrites({
        ...runtime,
        ...options,
        pathOf(method, target) {
          if (method === 'GET' || method === 'HEAD') return undefined;
          const info = readRequestInfo(method, target, facts);
          return info.isResourceRequest ? pathOf(method, info) : undefined;
        },
      });
    },
  });
}

/** Kinds that Arktos serves in two groups, and sends to the webhook of either (`matchPolicy: Equivalent`). */
const SERVED_TWICE: ReadonlyMap<string, string> = new Map([
  ['ingresses', 'networking.k8s.io'],
  ['networkpolicies', 'networking.k8s.io'],
  ['podsecuritypolicies', 'policy'],
]);

function keyOf(group: string, resource: string, operation: Operation): string {
  const [kind = ''] = resource.split('/');
  const served = group === 'extensions' ? (SERVED_TWICE.get(kind) ?? group) : group;
  return `${operation} ${served}/${resource}`;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['POST', 'CREATE'],
  ['PUT', 'UPDATE'],
  ['PATCH', 'UPDATE'],
  ['DELETE', 'DELETE'],
]);

/** @returns the path at which Arktos has the request reviewed; undefined if it has it reviewed nowhere */
export type ReviewPathOf = (
  method: string,
  kind: Pick<ResourceRequest, 'apiGroup' | 'resource' | 'subresource'>,
) => string | undefined;

/** @param writes of those that are the same, the last one says the path */
export function createReviewPaths(writes: readonly ReviewedWrite[]): ReviewPathOf {
  const paths = new Map(
    writes.flatMap(({ path, rule: registered }) => {
      const { apiGroups, resources, operations } = registered;
      return apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          operations.map((operation) => [keyOf(group, resource, operation), path] as const),
        ),
      );
    }),
  );
  return (method, { apiGroup, resource, subresource }) => {
    const operation = OPERATIONS.get(method);
    if (operation === undefined) return undefined;
    return paths.get(
      keyOf(apiGroup, subresource === '' ? resource : `${resource}/${subresource}`, operation),
    );
  };
}
