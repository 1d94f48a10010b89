/**
 * The port to a store that replicas share, as the cache needs it: bytes under names, and messages. It never
 * throws: a store that is gone, slow or full answers `undefined` or `false` within its fixed time, so that no
 * request fails or waits because of it. Nothing it gives back is to be believed unopened.
 * Implemented in `redis.ts`.
 */

export interface SharedStore {
  /**
   * @param maxBytes longer values are cut there
   * @returns one answer per name, undefined where there is none; or undefined where the store does not answer
   */
  get(names: readonly string[], maxBytes: number): Promise<readonly (Buffer | undefined)[] | undefined>;
  /** @param ttl milliseconds until the store forgets it */
  set(name: string, value: Buffer | string, ttl: number): Promise<boolean>;
  delete(names: readonly string[]): Promise<boolean>;
  publish(message: string): Promise<boolean>;
  /** For each message from any replica. */
  onMessage(listener: (message: string) => void): void;
  /** When messages may have been lost: the connection broke, or is back. */
  onGap(listener: () => void): void;
  /**
   * Waits until the store answers.
   *
   * @returns false when it does not within `milliseconds`
   */
  whenReady(milliseconds: number): Promise<boolean>;
  /** Why it does not answer, or last refused; undefined while all is well. For the operator; holds no secret. */
  problem(): string | undefined;
  close(): void;
}

/** What a store can do for replicas that must agree on who does something. It never throws either. */
export interface LeaseStore {
  /**
   * Takes the lease, or prolongs it where it is the owner's already.
   *
   * @param ttl milliseconds until it is anybody's again
   * @returns false where it is another's, and where the store does not answer
   */
  takeLease(name: string, owner: string, ttl: number): Promise<boolean>;
  /** Gives it back where it is the owner's; where the store does not answer, its time ends it. */
  giveBackLease(name: string, owner: string): Promise<void>;
}
