/**
 * Admission decided on the request's head: rules about its form that are cheaper to check here than to let
 * the API server discover. A plugin refuses by throwing.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/; RFC 9110 §15.5.14
 */

import { methodNotAllowed, StatusError } from '../errors/status-error.ts';
import { isWorkload, type RequestInfo } from '../kubernetes/request-info.ts';
import { type HeaderList, headerValue } from '../lib/header-list.ts';

export interface AdmittedRequest {
  readonly method: string;
  readonly headers: HeaderList;
}

/** @throws StatusError */
export type AdmissionPlugin = (request: AdmittedRequest, info: RequestInfo) => void;

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const methodAdmission: AdmissionPlugin = ({ method }, info) => {
  if (!info.isResourceRequest) return;
  const allow = isWorkload(info) ? [...METHODS, 'OPTIONS'] : METHODS;
  if (!allow.includes(method)) throw methodNotAllowed(allow);
};

/** @param maxBytes the largest body let through */
export function createBodySizeAdmission(maxBytes: number): AdmissionPlugin {
  return ({ headers }) => {
    const declared = Number(headerValue(headers, 'content-length') ?? 0);
    if (declared <= maxBytes) return;
    throw new StatusError('BodyTooLarge', `Request entity too large: limit is ${maxBytes}`);
  };
}
