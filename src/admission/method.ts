/**
 * Refuses a method that maps to no verb on a resource's path: RBAC would be asked about the empty verb, which a role
 * with `*` holds, and the request would reach any handler that accepts such a method. OPTIONS on `pods`, `services` and
 * `nodes` `/proxy` is a method of the API server's.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/
 */
import { isWorkload, type RequestInfo } from '../api/request-info.ts';
import { StatusError } from '../errors/status-error.ts';
import type { AdmissionPlugin } from './admission.ts';

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const methodAdmission: AdmissionPlugin = {
  name: 'method',
  admit({ method }, info) {
    if (!info.isResourceRequest || isAllowed(method, info)) return;
    throw new StatusError(
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
      { allow: isWorkload(info) ? [...METHODS, 'OPTIONS'] : METHODS },
    );
  },
};

function isAllowed(method: string, info: RequestInfo): boolean {
  return METHODS.includes(method) || (method === 'OPTIONS' && isWorkload(info));
}
