/**
 * The class of a request: what a request costs depends more on it than on the resource. Rates and usage count
 * by it.
 */
import type { RequestInfo } from '../../kubernetes/request-info.ts';

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
export function requestClass({ verb, longRunning }: RequestInfo): RequestClass {
  if (longRunning === undefined) return CLASSES.get(verb) ?? 'get';
  return longRunning === 'watch' ? 'watch' : 'connect';
}
