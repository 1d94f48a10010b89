/**
 * The interfaces the webhooks need from outside.
 */
import type { SubjectAccessReviewSpec } from '../../kubernetes/authorization-v1.ts';
import type { Identity } from '../../tenancy/identity.ts';
import type { ProjectMember } from './keystone-auth.ts';

export interface KeystoneGroups {
  /**
   * The names of the user's groups in Keystone, requested with the user's own token.
   *
   * @throws StatusError KeystoneUnavailable, CredentialInvalid
   */
  namesOf(identity: Identity, token: string): Promise<readonly string[]>;
}

export interface AccessPolicy {
  allows(spec: SubjectAccessReviewSpec): boolean;
}

/** Rules that are read again while they are in use. */
export interface Live<T> {
  /** The last valid ones; undefined before the first read. */
  readonly current: T | undefined;
}

export interface ProjectSync {
  /** Creates missing objects in the background. Never throws; failures are logged. */
  request(member: ProjectMember): void;
}

export interface ReviewedAdmission {
  /** The response, as JSON. */
  readonly body: string;
  /** `error`: the user's rights could not be reviewed, and the request is refused. */
  readonly result: 'allowed' | 'warned' | 'denied' | 'error';
  /** For the log: nothing of the object but its name. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A review for which the API server is asked. */
export interface PendingAdmission {
  /**
   * @param caller `source`: the client's address. If `signal` is aborted, the request is refused.
   */
  complete(caller: { readonly source: string; readonly signal: AbortSignal }): Promise<ReviewedAdmission>;
}

/** @throws StatusError BodyMalformed for what is no AdmissionReview */
export type AdmissionReviewer = (body: Uint8Array) => ReviewedAdmission | PendingAdmission;

export interface AdmittedReview {
  /**
   * @param bytes of the body that have arrived
   * @throws StatusError AdmissionRateExceeded if there is no memory for so many
   */
  onSize(bytes: number): void;
  /** @throws StatusError AdmissionRateExceeded if the turn comes too late; and what `judge` throws */
  inTurn<T>(judge: () => T): Promise<T>;
}

export interface ReviewLimits {
  /**
   * @param source address of the client
   * @throws StatusError AdmissionRateExceeded; and what `work` throws
   */
  enter<T>(source: string, work: (admitted: AdmittedReview) => Promise<T>): Promise<T>;
}
