/**
 * Finds where a write is reviewed, by the rules of a webhook's registration.
 */
import type { Operation, ReviewedWrite } from './admissionregistration-v1.ts';
import type { ResourceRequest } from './request-info.ts';

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

/**
 * @param writes of those that are the same, the last one says the path
 * @returns undefined if there are none
 */
export function createReviewPaths(writes: readonly ReviewedWrite[]): ReviewPathOf | undefined {
  if (writes.length === 0) return undefined;
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
