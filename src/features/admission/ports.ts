/**
 * What admission needs from outside: whose an object is, which the tenancy modes know, and what users may do,
 * which the API server knows.
 */
import type { AdmissionRequest, AdmissionUser } from '../../kubernetes/admission-v1.ts';
import type { ResourceAttributes } from '../../kubernetes/authorization-v1.ts';
import type { TenantName } from '../../kubernetes/request-info.ts';

export interface ReviewedTenant {
  /** Whether the object belongs to a tenant; then the rules about its content hold. */
  readonly isTenants: boolean;
  /** Whether a tenant's user or service account sends the request. */
  readonly byTenant: boolean;
  /** Undefined if it cannot be told which tenant it is. */
  readonly tenant: string | undefined;
}

/** The place that an access review asks about. */
export interface ReviewPlace {
  /** The tenant that the review names; undefined if the API server has no tenants. */
  readonly tenant: TenantName | undefined;
}

export interface AdmissionTenants {
  reviewedTenant(request: AdmissionRequest): ReviewedTenant;
  /** Whether it is a namespace of the cluster, which tenants' users may not create or change. */
  isSystemNamespace(name: string): boolean;
  /**
   * Where the rights of the request's user are reviewed.
   *
   * @returns undefined if a review by name could be about another user of the same name
   */
  reviewPlace(request: AdmissionRequest): ReviewPlace | undefined;
}

/** What a user needs to be allowed. Without a name: every object of the kind. */
export type Right = Omit<ResourceAttributes, 'tenant'>;

/** The request to the webhook for which rights are reviewed. */
export interface ReviewCaller {
  /** Address of the client: of an API server, unless other clients reach the listener. */
  readonly source: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

export interface AccessReview {
  /** @throws StatusError if it cannot be told */
  isAllowed(user: AdmissionUser, right: Right, place: ReviewPlace, caller: ReviewCaller): Promise<boolean>;
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
