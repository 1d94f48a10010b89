/**
 * The API group `stonegate.dev` is Stonegate's own in every tenancy mode: nothing below it reaches the API
 * server, so that no object a tenant creates there can pose as Stonegate's answer.
 */

import type { RequestInfo } from '../api/request-info.ts';
import { EXPLANATIONS_PATH, SELF_IDENTITY_PATH } from '../api/stonegate-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';

/** A request that Stonegate answers itself and does not forward. */
export interface OwnAPIRoute {
  readonly kind: 'own-api';
  readonly resource: 'selfidentity' | 'explanations';
}

interface Endpoint {
  readonly resource: OwnAPIRoute['resource'];
  readonly methods: readonly string[];
}

const GROUP = '/apis/stonegate.dev';
const BELOW_GROUP = `${GROUP}/`;
const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map([
  [SELF_IDENTITY_PATH, { resource: 'selfidentity', methods: ['GET', 'HEAD'] }],
  [EXPLANATIONS_PATH, { resource: 'explanations', methods: ['POST'] }],
]);

/**
 * The raw path decides: one with other spellings of these characters has been refused before.
 *
 * @returns undefined for every other group's path
 * @throws StatusError NotFound, MethodNotAllowed
 */
export function ownAPIRoute({ rawPath }: RequestInfo, method: string): OwnAPIRoute | undefined {
  if (rawPath !== GROUP && !rawPath.startsWith(BELOW_GROUP)) return undefined;
  const endpoint = ENDPOINTS.get(rawPath);
  if (endpoint === undefined)
    throw new StatusError('NotFound', 'the server could not find the requested resource');
  const { resource, methods } = endpoint;
  if (!methods.includes(method))
    throw new StatusError(
      'MethodNotAllowed',
      `the server does not allow this method on the requested resource: ${resource} takes ${methods.join(' and ')}`,
      { allow: methods },
    );
  return { kind: 'own-api', resource };
}
