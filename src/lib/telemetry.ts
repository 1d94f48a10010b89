/**
 * The port for what the parts count. Closed sets of labels only, so that no stranger can grow the number of
 * series. Implemented with prom-client in `observability/metrics.ts`; every name stands in `docs/metrics.md`.
 */

export type Backend = 'keystone' | 'issuer' | 'redis' | 'upstream';
/** `refused`: our own credential was. */
export type BackendResult = 'ok' | 'error' | 'timeout' | 'refused';
export type CacheTier = 'memory' | 'redis' | 'negative' | 'discovery';

/** Why Stonegate ended a long-running request; `docs/lifecycle.md` explains each. */
export type StreamEndReason = 'expired' | 'refused' | 'changed' | 'dropped' | 'unverified' | 'max-age';

export type ProvisioningResult = 'ok' | 'incomplete' | 'held-back' | 'broken-off' | 'error';

export interface ProvisioningRun {
  readonly trigger: 'periodic' | 'request';
  readonly result: ProvisioningResult;
  /** What was done; absent where nothing could be planned. */
  readonly changes?: Readonly<Record<'create' | 'update' | 'delete', number>>;
  /** What Keystone has and the cluster cannot. */
  readonly refusals?: number;
  /** Deletions that wait for a person. */
  readonly heldBack?: number;
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
  provisioned(run: ProvisioningRun): void;
  /** Stonegate ended a long-running request. */
  streamEnded(kind: string, reason: StreamEndReason): void;
  /** A certificate, configuration or key file was read anew. */
  reload(result: 'ok' | 'error'): void;
}

export const noTelemetry: Telemetry = {
  cacheLookup() {},
  backendCall() {},
  unknownCredentialLimited() {},
  webhookReview() {},
  provisioned() {},
  streamEnded() {},
  reload() {},
};
