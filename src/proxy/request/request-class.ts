/**
 * The class of a request, by which rates and usage count. The API server's Priority and Fairness estimates
 * the work of a list from the number of objects, which Stonegate does not know: a class has one cost.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#seats-occupied-by-a-request
 */
import type { LimitedRequest } from '../limiter.ts';

export type RequestClass = 'get' | 'list' | 'watch' | 'write' | 'connect';

const CLASSES: ReadonlyMap<string, RequestClass> = new Map([
  ['list', 'list'],
  ['create', 'write'],
  ['update', 'write'],
  ['patch', 'write'],
  ['delete', 'write'],
  ['deletecollection', 'write'],
]);

/** Followed logs and connections into pods, services and nodes are `connect`. */
export function requestClass({ isResourceRequest, verb, longRunning }: LimitedRequest): RequestClass {
  if (longRunning !== undefined) return longRunning === 'watch' ? 'watch' : 'connect';
  return (isResourceRequest ? CLASSES.get(verb) : undefined) ?? 'get';
}
