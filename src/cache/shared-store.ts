/**
 * The interface of a store that replicas share (`redis.ts`): bytes under names, and messages. The store
 * never throws: if it is down, slow or full, it returns `undefined` or `false` within its timeout, so that
 * no request fails or waits. Its values are not trusted until they are opened.
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
  /**
   * Runs a script atomically.
   *
   * @param keys of one hash slot
   * @returns what the script returns; undefined if the store does not respond, or refuses it
   */
  run(script: StoreScript, keys: readonly string[], values: readonly number[]): Promise<unknown>;
  /** There is one listener. */
  listen(listener: StoreListener): void;
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

export interface StoreScript {
  /** Lua. */
  readonly text: string;
  /** The digest of the text, by which Redis knows it. */
  readonly sha1: string;
}

export interface StoreListener {
  /** A message of any replica, this one included. */
  onMessage(message: string): void;
  /** Messages may have been lost: the connection is lost, or restored. */
  onGap(): void;
}
