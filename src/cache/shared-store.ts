/**
 * The port to a store that replicas share: bytes under names, messages, and leases. The store never throws:
 * if it is down, slow or full, it returns `undefined` or `false` within its timeout, so that no request fails
 * or waits because of it. Its values are not trusted until they are opened. Implemented in `redis.ts`.
 */
export interface SharedStore {
  /**
   * @param maxBytes longer values are truncated
   * @returns one value per name, undefined if it is absent; or undefined if the store does not respond
   */
  get(names: readonly string[], maxBytes: number): Promise<readonly (Buffer | undefined)[] | undefined>;
  /** @param ttl in milliseconds */
  set(name: string, value: Buffer | string, ttl: number): Promise<boolean>;
  delete(names: readonly string[]): Promise<boolean>;
  publish(message: string): Promise<boolean>;
  /** Messages of all replicas, this one included. */
  onMessage(listener: (message: string) => void): void;
  /** Called if messages may have been lost: the connection is lost, or restored. */
  onGap(listener: () => void): void;
  /**
   * Waits until the store responds.
   *
   * @returns false if it does not within `milliseconds`
   */
  whenReady(milliseconds: number): Promise<boolean>;
  /**
   * The current failure, or the last refused command; else undefined. For the operator; contains no secret.
   */
  problem(): string | undefined;
  close(): void;
}

/** Leases, by which replicas agree on one of them. It never throws either. */
export interface LeaseStore {
  /**
   * Acquires the lease, or renews it for its owner.
   *
   * @param ttl milliseconds until it expires
   * @returns false if another owner has it, or the store does not respond
   */
  acquireLease(name: string, owner: string, ttl: number): Promise<boolean>;
  /** Has an effect for the owner alone. If the store does not respond, the lease expires. */
  releaseLease(name: string, owner: string): Promise<void>;
}
