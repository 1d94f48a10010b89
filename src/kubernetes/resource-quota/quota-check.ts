/**
 * Decides whether a request fits into a quota, and says in the words of Kubernetes' ResourceQuota why it does
 * not.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
 */
import { formatLike } from '../quantity.ts';
import type { Usage } from './usage.ts';

/** A request asks this of a quota. */
export interface QuotaUse {
  /** The stored object uses this much; a new one uses nothing. */
  readonly before: Usage;
  readonly after: Usage;
  /** Names of resources in `hard` that a container does not request: see `missingRequests`. */
  readonly missing: (hard: Iterable<string>) => readonly string[];
}

/** @returns what of `asked` does not fit beside `used`; what is not counted yet is left out */
export function exceedingQuota(asked: Usage, hard: Usage, used: Usage): Usage {
  const tooMuch = [...asked].filter(([resource, amount]) => {
    const [most, present] = [hard.get(resource), used.get(resource)];
    return most !== undefined && present !== undefined && present + amount > most;
  });
  return new Map(tooMuch.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * @param requested what exceeds the quota
 * @param amounts of the same resources, such as `used`
 * @param hard of the quota; amounts are written in the form of its quantities
 */
export function exceededText(
  quota: string,
  requested: Usage,
  amounts: Readonly<Record<string, Usage>>,
  hard: Readonly<Record<string, string>>,
): string {
  const lists = Object.entries({ requested, ...amounts }).map(([what, usage]) => {
    const texts = [...requested.keys()].map(
      (resource) => `${resource}=${formatLike(usage.get(resource) ?? 0n, hard[resource] ?? '')}`,
    );
    return `${what}: ${texts.join(',')}`;
  });
  return [`exceeded quota: ${quota}`, ...lists].join(', ');
}

export function unspecifiedText(quota: string, missing: readonly string[]): string {
  return `failed quota: ${quota}: must specify ${missing.join('; ')}`;
}
