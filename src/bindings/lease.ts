/**
 * The port by which several replicas agree on who provisions. Implemented in `cache/redis-lease.ts`; without Redis
 * there is one process, which always holds it.
 */
export interface Lease {
  /**
   * Takes or prolongs it.
   *
   * @returns false where another replica holds it; also where nobody can be asked: then nobody provisions
   */
  hold(): Promise<boolean>;
  /** Gives it back where it is ours. */
  release(): Promise<void>;
}
