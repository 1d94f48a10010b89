/**
 * Whose fault a 401 is. The API server never asks an impersonated user for a credential, so its 401 is about
 * ours. Only behind a `proxy` subresource somebody else may answer: a workload's own 401, which by RFC 9110
 * §15.5.2 carries WWW-Authenticate; the API server's does not.
 */
import { type HeaderList, headerValue } from '../lib/header-list.ts';

const PROXIED = /^[^?]*\/proxy(?:[/?]|$)/;

export function concernsOurCredential(target: string, status: number, headers: HeaderList): boolean {
  if (status !== 401) return false;
  return !(PROXIED.test(target) && headerValue(headers, 'www-authenticate') !== undefined);
}
