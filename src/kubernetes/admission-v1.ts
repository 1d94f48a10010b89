/**
 * `admission.k8s.io` AdmissionReview, versions v1 and v1beta1: what an API server asks before it stores an
 * object, and the verdict. Only the fields that Stonegate reads or sends.
 * https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
 */

import type { StatusCause } from '../errors/status.ts';
import type { Extra } from './authentication-v1.ts';

/** The newest version of the Pod Security Standards that is known: v1.36. */
export const NEWEST_POD_SECURITY_MINOR = 36;

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionUser {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Extra;
}

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: AdmissionOperation;
  /**
   * The group of the resource as the webhook is registered for it; the API server converts the objects
   * to it.
   */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for an object that is created. */
  readonly name: string;
  /** Empty if the resource has no namespace; the object's own name for a namespace. */
  readonly namespace: string;
  readonly user: AdmissionUser;
  /** Whether nothing is stored: then the webhook must have no effect. */
  readonly isDryRun: boolean;
  /** Untrusted, except that it has the kind's fields. Undefined if something is deleted. */
  readonly object: unknown;
  /** The stored object. Undefined if something is created. */
  readonly oldObject: unknown;
}

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: {
    readonly status: 'Failure';
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details?: { readonly causes?: readonly StatusCause[]; readonly retryAfterSeconds?: number };
  };
  /** Shown to the client; API servers before 1.19 ignore them. */
  readonly warnings?: readonly string[];
}
