/**
 * Refuses a body by its declared length before a byte of it is read. What declares no length is counted while
 * it streams. RFC 9110 §15.5.14.
 */
import { StatusError } from '../errors/status-error.ts';
import { headerValue } from '../lib/header-list.ts';
import type { AdmissionPlugin } from './admission.ts';

/** @param maxBytes the largest body let through */
export function createBodySizeAdmission(maxBytes: number): AdmissionPlugin {
  return {
    name: 'body-size',
    admit({ headers }) {
      const declared = Number(headerValue(headers, 'content-length') ?? 0);
      if (declared <= maxBytes) return;
      throw new StatusError('BodyTooLarge', `Request entity too large: limit is ${maxBytes}`);
    },
  };
}
