/**
 * The class of a request, which decides what it costs. The API server's Priority and Fairness estimates the
 * work of a list from the number of objects, which Stonegate does not know: a class has one cost.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#seats-occupied-by-a-request
 */
import type { LimitedRequest } from '../../proxy/limiter.ts';
import type { RatesConfiguration } from './rates-configuration.ts';

export type RequestClass = keyof RatesConfiguration['costs'];

const CLASSES: ReadonlyMap<string, RequestClass> = new Map([
  ['list', 'list'],
  ['create', 'write'],
  ['update', 'write'],
  ['patch', 'write'],
  ['delete', 'write'],
  ['deletecollection', 'write'],
]);

export function requestClass({ isResourceRequest, verb, longRunning }: LimitedRequest): RequestClass {
  if (longRunning !== undefined) return longRunning === 'watch' ? 'watch' : 'connect';
  return (isResourceRequest ? CLASSES.get(verb) : undefined) ?? 'get';
}
