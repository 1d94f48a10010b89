/**
 * The port by which replicas agree on one of them. Redis implements it, and Leases of the API server.
 */

export interface Lease {
  /**
   * Acquires or renews the lease: of several replicas, the holder works. Never rejects.
   *
   * @returns false if another replica holds it, or if that cannot be found out; then no replica works
   */
  hold(): Promise<boolean>;
  /** Releases the lease if this process holds it. Never rejects. */
  release(): Promise<void>;
}

/** Lease duration in milliseconds: if the holder crashes, no replica works for so long. */
export const LEASE_TTL = 30_000;
/** Milliseconds between renewals by the holder; two may fail. */
export const LEASE_RENEWAL = 10_000;
/** Milliseconds between attempts of the other replicas. */
export const LEASE_STANDBY = 2_000;
