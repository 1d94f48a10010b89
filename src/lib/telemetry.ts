/**
 * The interface of the counters, which `observability/metrics.ts` implements with prom-client. All labels
 * have closed sets of values, so that no client can increase the number of series. Every name is listed in
 * `docs/reference/metrics.md`.
 */

export type Backend = 'keystone' | 'issuer' | 'redis' | 'upstream';
/** `refused`: Stonegate's own credential was refused. */
export type BackendResult = 'ok' | 'error' | 'timeout' | 'refused';
export type CacheTier = 'memory' | 'redis' | 'negative' | 'discovery';

/** Why Stonegate ended a long-running request; `docs/lifecycle.md` explains each. */
export const STREAM_END_REASONS = [
  'expired',
  'refused',
  'changed',
  'dropped',
  'unverified',
  'max-age',
  'policy',
] as const;
export type StreamEndReason = (typeof STREAM_END_REASONS)[number];

/** `bindings-on-request`: those of one project, on the request of one of its users. */
export const CONTROLLERS = ['bindings', 'bindings-on-request', 'policies', 'publishing', 'quota'] as const;
export type ControllerName = (typeof CONTROLLERS)[number];
export const RUN_RESULTS = ['ok', 'incomplete', 'held-back', 'broken-off', 'error'] as const;

/** A run of a controller; what follows the result is absent if there was no plan. */
export interface ControllerRun {
  /**
   * `incomplete`: a change failed, or a source could not be read. `held-back`: deletions wait for an
   * operator. `error`: no plan could be computed, or the lease could not be held.
   */
  readonly result: (typeof RUN_RESULTS)[number];
  /** The changes that were made. */
  readonly changes?: Readonly<Record<'create' | 'update' | 'delete', number>>;
  /** The number of objects that cannot be brought into the desired state. */
  readonly refusals?: number;
  readonly failures?: number;
  readonly heldBack?: number;
}

/** Result of comparing the RBAC index with the API server; `docs/reference/metrics.md` explains each. */
export const VERIFICATION_RESULTS = [
  'agreed',
  'settled',
  'otherAuthorizer',
  'differed',
  'unknown',
  'failed',
  'dropped',
] as const;
export type VerificationResult = (typeof VERIFICATION_RESULTS)[number];

/** Informers that belong together. */
export type InformerName =
  | 'rbac-index'
  | 'policies'
  | 'publishing'
  | 'quota'
  | 'tenant-quotas'
  | 'resource-quotas'
  | 'teams'
  | 'tokens'
  | 'invitations'
  | 'tenants';
/** Why an informer listed its resource; `docs/reference/metrics.md` explains each. */
export const INFORMER_LIST_REASONS = [
  'start',
  'expired',
  'no-bookmarks',
  'garbage',
  'disorder',
  'restored',
  'off',
  'behind',
] as const;
export type InformerListReason = (typeof INFORMER_LIST_REASONS)[number];
export const INFORMER_FAILURES = ['unreachable', 'refused', 'status', 'silent', 'garbage'] as const;
export type InformerFailure = (typeof INFORMER_FAILURES)[number];

/** An informer at one moment. */
export interface InformerMeasures {
  readonly resource: string;
  /** Since the store was last known to be complete; before that, since the start. */
  readonly ageSeconds: number;
}

/** The policies at one moment. */
export interface PolicyMeasures {
  /** The number of policies in force, by form. */
  readonly inForce: Readonly<Record<'abac' | 'tenant' | 'administration', number>>;
  /** Objects and configured administrations that grant nothing. */
  readonly notReady: number;
}

export const REVIEW_KINDS = ['TokenReview', 'SubjectAccessReview', 'other'] as const;
export const REVIEW_RESULTS = ['authenticated', 'unauthenticated', 'allowed', 'no-opinion', 'error'] as const;
export const ADMISSION_RESULTS = ['allowed', 'warned', 'denied', 'error', 'limited'] as const;

/** Verdicts of the quota of a tenant; `docs/reference/metrics.md` explains each. */
export const QUOTA_RESULTS = [
  'admitted',
  'exceeded',
  'namespace',
  'unspecified',
  'uncounted',
  'contended',
  'full',
  'absent',
] as const;

/** What a tenant uses of one resource of its quota; 1: all of it. */
export interface QuotaMeasure {
  readonly tenant: string;
  readonly resource: string;
  readonly usedRatio: number;
}

/** A listener for clients: `api`, or the feature that it belongs to. The admin listener is none. */
export type ListenerName = string;

/** The RBAC index at one moment. */
export interface IndexMeasures {
  readonly synced: boolean;
  readonly revision: number;
  /** That all objects take, as they are estimated. */
  readonly bytes: number;
  /** Tenants whose index is off, since their objects do not fit; 1 without tenants. */
  readonly tenantsOff: number;
  /** Roles and bindings whose rules or subjects are too large. */
  readonly tooLarge: number;
  readonly resources: readonly { readonly resource: string; readonly objects: number }[];
}

/** Whose rate: `limits.perTenant` or `limits.tenants`, and `limits.perUser`. */
export const RATE_LIMITS = ['tenant', 'user'] as const;
export const RATE_RESULTS = ['refused', 'shadow'] as const;

export interface Telemetry {
  cacheLookup(tier: CacheTier, result: 'hit' | 'miss' | 'stale' | 'error'): void;
  /** One call to a backend. */
  backendCall(backend: Backend, result: BackendResult, seconds: number): void;
  /** A request beyond a rate of `limits` was refused, or only counted. */
  rateLimited(limit: (typeof RATE_LIMITS)[number], result: (typeof RATE_RESULTS)[number]): void;
  /** Whether this process admits its own share of the rates: there is no Redis, or it does not answer. */
  rateSharesInForce(inForce: boolean): void;
  /** A credential no cache knew was turned away before a backend was asked. */
  unknownCredentialLimited(reason: 'source' | 'total'): void;
  /** The webhook answered a review, or could not. */
  webhookReview(kind: (typeof REVIEW_KINDS)[number], result: (typeof REVIEW_RESULTS)[number]): void;
  /** The admission webhook answered a review, could not, or refused to read it. */
  admissionReview(result: (typeof ADMISSION_RESULTS)[number]): void;
  /** Whether this process runs the controller. */
  leads(controller: ControllerName, isLeader: boolean): void;
  /** A run of a controller is over. */
  reconciled(controller: ControllerName, run: ControllerRun): void;
  /** Stonegate ended a long-running request. */
  streamEnded(kind: string, reason: StreamEndReason): void;
  /** A decision of the RBAC index was drawn to be compared with the API server's. */
  accessVerified(result: VerificationResult): void;
  informerListed(informer: InformerName, resource: string, reason: InformerListReason): void;
  informerFailed(informer: InformerName, resource: string, failure: InformerFailure): void;
  /**
   * Informers that were started are read at each scrape.
   *
   * @returns call it when they are stopped; others of this name may have been started by then
   */
  informersInForce(informer: InformerName, read: () => readonly InformerMeasures[]): () => void;
  /** The index in force is read at each scrape; undefined: there is none. */
  indexInForce(read: (() => IndexMeasures) | undefined): void;
  /**
   * The policies in force are read at each scrape.
   *
   * @returns call it when they are out of force; others may be in force by then
   */
  policiesInForce(read: () => PolicyMeasures): () => void;
  /**
   * The age of Keystone's limits is read at each scrape; undefined: this process has not needed them.
   *
   * @returns call it when they are out of use
   */
  keystoneLimitsInUse(ageSeconds: () => number | undefined): () => void;
  /** The quota of a tenant judged what an API server asked about. */
  quotaReview(result: (typeof QUOTA_RESULTS)[number]): void;
  /** The counted usage of a tenant was written anew, since another client had changed it. */
  quotaRepaired(): void;
  /**
   * What tenants use of their quotas is read at each scrape.
   *
   * @returns call it when it is not counted here any more; others may count by then
   */
  quotasInForce(read: () => readonly QuotaMeasure[]): () => void;
  /** The number of open connections of a listener is read at each scrape. */
  listening(listener: ListenerName, connections: () => number): void;
  /** @param notAfter field of the configuration → end of its certificate, in milliseconds since the epoch */
  certificatesInForce(notAfter: ReadonlyMap<string, number>): void;
  /** A certificate, configuration or key file was read anew. */
  reload(result: 'ok' | 'error'): void;
}

export const noTelemetry: Telemetry = {
  cacheLookup() {},
  backendCall() {},
  rateLimited() {},
  rateSharesInForce() {},
  unknownCredentialLimited() {},
  webhookReview() {},
  admissionReview() {},
  leads() {},
  reconciled() {},
  streamEnded() {},
  accessVerified() {},
  informerListed() {},
  informerFailed() {},
  informersInForce: () => () => {},
  indexInForce() {},
  policiesInForce: () => () => {},
  keystoneLimitsInUse: () => () => {},
  quotaReview() {},
  quotaRepaired() {},
  quotasInForce: () => () => {},
  listening() {},
  certificatesInForce() {},
  reload() {},
};
