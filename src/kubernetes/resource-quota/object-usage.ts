/**
 * Computes what an object asks of a quota, and says which names a quota has: those of ResourceQuota but
 * `secrets`, and `namespaces` and `virtualmachines`.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/ and
 * https://github.com/kubernetes/kubernetes/tree/v1.36.3/pkg/quota/v1/evaluator/core
 */

import { fieldAt, listAt } from '../../lib/json-object.ts';
import { labelKeyProblem } from '../lists/label-syntax.ts';
import { ONE, parseQuantity, readResourceList } from '../quantity.ts';
import { COMPUTE, isExtended, podUsage } from './pod-usage.ts';
import { largest, type Usage } from './usage.ts';

type Amounts = Iterable<readonly [string, bigint]>;

/** Kinds of the core group that are counted by their own name too. */
const COUNTED = ['configmaps', 'namespaces', 'replicationcontrollers', 'resourcequotas'];
const STORAGE_CLASS = '.storageclass.storage.k8s.io';
const BETA_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class';
const CLAIMS = 'persistentvolumeclaims';
const STORAGE = 'requests.storage';

/** @param object of the kind, as the API server stores it or sends it to a webhook */
export function objectUsage(
  { group, resource }: { readonly group: string; readonly resource: string },
  object: unknown,
): Usage {
  const count = [group === '' ? `count/${resource}` : `count/${resource}.${group}`, ONE] as const;
  switch (group === '' ? resource : '') {
    case 'pods':
      return podUsage(object);
    case 'services':
      return new Map([count, ...serviceUsage(object)]);
    case CLAIMS:
      return new Map([count, ...claimUsage(object)]);
    default:
      return new Map(group === '' && COUNTED.includes(resource) ? [count, [resource, ONE]] : [count]);
  }
}

function serviceUsage(service: unknown): Amounts {
  const type = fieldAt(service, 'spec', 'type');
  const ports = listAt(fieldAt(service, 'spec'), 'ports');
  const isLoadBalancer = type === 'LoadBalancer';
  const hasNodePorts = type === 'NodePort' || isLoadBalancer;
  const onlyChosen = isLoadBalancer && fieldAt(service, 'spec', 'allocateLoadBalancerNodePorts') === false;
  const nodePorts = ports.filter((port) => hasNodePorts && (!onlyChosen || fieldAt(port, 'nodePort')));
  return [
    ['services', ONE],
    ['services.loadbalancers', isLoadBalancer ? ONE : 0n],
    ['services.nodeports', BigInt(nodePorts.length) * ONE],
  ];
}

function claimUsage(claim: unknown): Amounts {
  const old = fieldAt(claim, 'metadata', 'annotations', BETA_STORAGE_CLASS);
  const storageClass = old ?? fieldAt(claim, 'spec', 'storageClassName');
  const requests = readResourceList(fieldAt(claim, 'spec', 'resources', 'requests'));
  // It stays above the request while an expansion that failed is given up.
  const allocated = readResourceList(fieldAt(claim, 'status', 'allocatedResources'));
  const bytes = largest(requests, allocated).get('storage');
  const amounts: [string, bigint][] = [[CLAIMS, ONE]];
  if (bytes !== undefined) amounts.push([STORAGE, ((bytes + ONE - 1n) / ONE) * ONE]);
  if (typeof storageClass !== 'string' || storageClass === '') return amounts;
  const ofClass = (name: string) => `${storageClass}${STORAGE_CLASS}/${name}`;
  return [...amounts, ...amounts.map(([name, amount]) => [ofClass(name), amount] as const)];
}

const NAMES: ReadonlySet<string> = new Set([
  ...COMPUTE.flatMap((resource) => [resource, `requests.${resource}`, `limits.${resource}`]),
  ...['pods', 'virtualmachines', 'services', 'services.loadbalancers', 'services.nodeports'],
  ...[CLAIMS, STORAGE, ...COUNTED],
]);
const HUGE_PAGES = /^(?:requests\.)?hugepages-(.+)$/;
const COUNT = /^count\/[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

/** Whether a quota can limit it. */
export function isQuotaName(name: string): boolean {
  if (NAMES.has(name)) return true;
  if (labelKeyProblem(name) !== undefined) return false;
  const [, pageSize] = HUGE_PAGES.exec(name) ?? [];
  if (pageSize !== undefined) return parseQuantity(pageSize) !== undefined;
  const [prefix = '', rest = ''] = name.split('/');
  if (prefix.endsWith(STORAGE_CLASS)) return rest === STORAGE || rest === CLAIMS;
  return COUNT.test(name) || (name.startsWith('requests.') && isExtended(name.slice('requests.'.length)));
}

/** @returns the kind whose objects use the resource, as kubectl names it */
export function kindOfResource(resource: string): string {
  if (resource.startsWith('count/')) return resource.slice('count/'.length);
  const [, ofClass = resource] = resource.split(`${STORAGE_CLASS}/`);
  if (ofClass === CLAIMS || ofClass === STORAGE) return CLAIMS;
  if (resource.startsWith('services')) return 'services';
  return COUNTED.includes(resource) ? resource : 'pods';
}

/**
 * Whether a quota limits something by this name.
 *
 * @param counted the kinds that are counted, as kubectl names them
 */
export function isLimiting(name: string, counted: ReadonlySet<string>): boolean {
  return isQuotaName(name) && counted.has(kindOfResource(name));
}
