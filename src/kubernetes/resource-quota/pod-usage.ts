/**
 * Computes what a pod asks of a quota, and what it must set if there is one, as Kubernetes' evaluator does.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/quota/v1/evaluator/core/pods.go and
 * …/staging/src/k8s.io/component-helpers/resource/helpers.go
 */

import { fieldAt, isJSONObject, listAt } from '../../lib/json-object.ts';
import { ONE, readResourceList } from '../quantity.ts';
import { largest, NOTHING, sum, type Usage } from './usage.ts';

/** Resources whose requests and limits are both counted. */
export const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
/** A quota of these, and of no others, obliges each container to set them. */
const OBLIGATORY = ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]).sort();
const HUGE_PAGES = 'hugepages-';
const DEVICE_CLASS = 'deviceclass.resource.kubernetes.io/';

type Kind = 'requests' | 'limits';

/** A pod that is being deleted counts until it has ended or is gone. */
export function podUsage(pod: unknown): Usage {
  const stored: Usage = new Map([['count/pods', ONE]]);
  const phase = fieldAt(pod, 'status', 'phase');
  if (phase === 'Failed' || phase === 'Succeeded') return stored;
  const vm = isJSONObject(fieldAt(pod, 'spec', 'virtualMachine'))
    ? [new Map([['virtualmachines', ONE]])]
    : [];
  const compute = computeUsage(totalOf(pod, 'requests'), totalOf(pod, 'limits'));
  return sum([stored, new Map([['pods', ONE]]), ...vm, compute]);
}

/**
 * @param hard the names that the quota limits
 * @returns such as `cpu for: a,b`; Kubernetes refuses with `must specify ` and these, joined by `; `
 */
export function missingRequests(pod: unknown, hard: Iterable<string>): string[] {
  const spec = fieldAt(pod, 'spec');
  const ofPod = [...resourcesOf(spec, 'requests').keys(), ...resourcesOf(spec, 'limits').keys()];
  if (ofPod.some(isPodLevel)) return [];
  const containers = [...workloadsOf(spec), ...listAt(spec, 'initContainers')].map((container) => ({
    name: nameOf(container),
    set: computeUsage(resourcesOf(container, 'requests'), resourcesOf(container, 'limits')),
  }));
  const required = new Set(hard);
  return OBLIGATORY.filter((resource) => required.has(resource)).flatMap((resource) => {
    const without = new Set(containers.filter(({ set }) => !set.has(resource)).map(({ name }) => name));
    return without.size === 0 ? [] : [`${resource} for: ${[...without].sort().join(',')}`];
  });
}

/** Whether a resource of a container is one that only some nodes have, such as `example.com/gpu`. */
export function isExtended(resource: string): boolean {
  if (resource.startsWith(DEVICE_CLASS)) return true;
  return resource.includes('/') && !resource.includes('kubernetes.io/') && !resource.startsWith('requests.');
}

function computeUsage(requests: Usage, limits: Usage): Usage {
  const usage = new Map<string, bigint>();
  for (const [resource, amount] of requests) {
    const counted = COMPUTE.includes(resource) || resource.startsWith(HUGE_PAGES);
    if (counted) usage.set(resource, amount);
    if (counted || isExtended(resource)) usage.set(`requests.${resource}`, amount);
  }
  for (const [resource, amount] of limits)
    if (COMPUTE.includes(resource)) usage.set(`limits.${resource}`, amount);
  return usage;
}

/**
 * Containers run together; an init container runs alone, beside the sidecars that were started before it. A
 * pod's own resources take the place of these sums.
 */
function totalOf(pod: unknown, kind: Kind): Usage {
  const spec = fieldAt(pod, 'spec');
  const effective = effectiveResources(pod, kind);
  let sidecars = NOTHING;
  let peak = NOTHING;
  for (const container of listAt(spec, 'initContainers'))
    if (fieldAt(container, 'restartPolicy') === 'Always') sidecars = sum([sidecars, effective(container)]);
    else peak = largest(peak, sum([sidecars, resourcesOf(container, kind)]));
  const total = new Map(largest(sum([...workloadsOf(spec).map(effective), sidecars]), peak));
  for (const [resource, amount] of readResourceList(fieldAt(spec, 'resources', kind)))
    if (isPodLevel(resource)) total.set(resource, amount);
  for (const [resource, amount] of readResourceList(fieldAt(spec, 'overhead'))) {
    const asked = total.get(resource) ?? 0n;
    // An overhead limits nothing that has no limit.
    if (kind === 'requests' || asked !== 0n) total.set(resource, asked + amount);
  }
  return total;
}

/** While a container is resized, the largest of what it asks for, was promised and has; KEP-1287. */
function effectiveResources(pod: unknown, kind: Kind): (container: unknown) => Usage {
  const status = fieldAt(pod, 'status');
  const statuses = ['containerStatuses', 'initContainerStatuses'].flatMap((name) => listAt(status, name));
  const byName = new Map(statuses.map((one) => [nameOf(one), one]));
  const pending = listAt(status, 'conditions').find((one) => fieldAt(one, 'type') === 'PodResizePending');
  const isInfeasible = fieldAt(pending, 'reason') === 'Infeasible';
  return (container) => {
    const asked = resourcesOf(container, kind);
    const found = byName.get(nameOf(container));
    const actual = fieldAt(found, 'resources');
    if (!isJSONObject(actual)) return asked;
    const promised = kind === 'requests' ? fieldAt(found, 'allocatedResources') : undefined;
    const held = largest(readResourceList(actual[kind]), readResourceList(promised));
    return isInfeasible ? held : largest(asked, held);
  };
}

function nameOf(container: unknown): string {
  const name = fieldAt(container, 'name');
  return typeof name === 'string' ? name : '';
}

/** An Arktos pod has a VM in place of containers. */
function workloadsOf(spec: unknown): readonly unknown[] {
  const vm = fieldAt(spec, 'virtualMachine');
  return [...listAt(spec, 'containers'), ...(isJSONObject(vm) ? [vm] : [])];
}

/** A limit is also the request that is not set. Arktos leaves this default out for VMs. */
function resourcesOf(container: unknown, kind: Kind): Usage {
  const limits = readResourceList(fieldAt(container, 'resources', 'limits'));
  if (kind === 'limits') return limits;
  const requests = new Map([...limits, ...readResourceList(fieldAt(container, 'resources', 'requests'))]);
  // Arktos: what the node has promised, which a resize lowers later than the requests.
  return largest(requests, readResourceList(fieldAt(container, 'resourcesAllocated')));
}

/** Whether a resource counts that is set for the pod as a whole. */
function isPodLevel(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith(HUGE_PAGES);
}
