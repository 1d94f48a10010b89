/**
 * The port for counters. All labels have closed sets of values, so that no client can increase the number of
 * series. Implemented with prom-client in `observability/metrics.ts`; every name is listed in
 * `docs/metrics.md`.
 */

export type Backend = 'keystone' | 'issuer' | 'redis' | 'upstream';
/** `refused`: Stonegate's own credential was refused. */
export type BackendResult = 'ok' | 'error' | 'timeout' | 'refused';
export type CacheTier = 'memory' | 'redis' | 'negative' | 'discovery';

/** Why Stonegate ended a long-running request; `docs/lifecycle.md` explains each. */
export type StreamEndReason = 'expired' | 'refused' | 'changed' | 'dropped' | 'unverified' | 'max-age';

export type ProvisioningResult = 'ok' | 'incomplete' | 'held-back' | 'broken-off' | 'error';

export interface ProvisioningRun {
  readonly trigger: 'periodic' | 'request';
  readonly result: ProvisioningResult;
  /** The changes that were made; absent if there was no plan. */
  readonly changes?: Readonly<Record<'create' | 'update' | 'delete', number>>;
  /** What Keystone has and the cluster cannot. */
  readonly refusals?: number;
  /** Deletions that wait for an operator. */
  readonly heldBack?: number;
}

/** How a decision of the RBAC index compares with the API server's; `docs/metrics.md` explains each. */
export type VerificationResult =
  | 'agreed'
  | 'settled'
  | 'otherAuthorizer'
  | 'differed'
  | 'unsettled'
  | 'unknown'
  | 'failed'
  | 'dropped';

/** Why a resource of the RBAC index was listed; `docs/metrics.md` explains each. */
export type IndexListReason =
  | 'start'
  | 'expired'
  | 'no-bookmarks'
  | 'requested'
  | 'garbage'
  | 'disorder'
  | 'restored'
  | 'left-out';
export type IndexFailure = 'unreachable' | 'refused' | 'status' | 'silent' | 'garbage';

/** The RBAC index at one moment. */
export interface IndexMeasures {
  readonly synced: boolean;
  readonly revision: number;
  /** Tenants, or namespaces, of which objects are left out. */
  readonly leftOut: number;
  readonly resources: readonly {
    readonly resource: string;
    readonly objects: number;
    /** Since the last proof that the resource is current; undefined before the first. */
    readonly ageSeconds: number | undefined;
  }[];
}

export interface Telemetry {
  cacheLookup(tier: CacheTier, result: 'hit' | 'miss' | 'stale' | 'error'): void;
  /** One call to a backend. */
  backendCall(backend: Backend, result: BackendResult, seconds: number): void;
  /** A credential no cache knew was turned away before a backend was asked. */
  unknownCredentialLimited(reason: 'source' | 'total'): void;
  /** The webhook answered a review, or could not. */
  webhookReview(
    kind: 'TokenReview' | 'SubjectAccessReview' | 'other',
    result: 'authenticated' | 'unauthenticated' | 'allowed' | 'no-opinion' | 'error',
  ): void;
  /** The admission webhook answered a review, could not, or refused to read it. */
  admissionReview(result: 'allowed' | 'warned' | 'denied' | 'error' | 'limited'): void;
  provisioned(run: ProvisioningRun): void;
  /** Stonegate ended a long-running request. */
  streamEnded(kind: string, reason: StreamEndReason): void;
  /** A decision of the RBAC index was drawn to be compared with the API server's. */
  accessVerified(result: VerificationResult): void;
  /** @param resource of the RBAC index */
  indexListed(resource: string, reason: IndexListReason): void;
  indexFailed(resource: string, failure: IndexFailure): void;
  /** The index in force is read at each scrape; undefined: there is none. */
  indexInForce(read: (() => IndexMeasures) | undefined): void;
  /** A certificate, configuration or key file was read anew. */
  reload(result: 'ok' | 'error'): void;
}

export const noTelemetry: Telemetry = {
  cacheLookup() {},
  backendCall() {},
  unknownCredentialLimited() {},
  webhookReview() {},
  admissionReview() {},
  provisioned() {},
  streamEnded() {},
  accessVerified() {},
  indexListed() {},
  indexFailed() {},
  indexInForce() {},
  reload() {},
};
