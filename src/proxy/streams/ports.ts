/**
 * What flow control needs from outside.
 */

/** Sees, in the messages between replicas, that an operator or Keystone has revoked something. */
export interface Drops {
  /**
   * Grows with each drop that this process learns of and that may take something from a user: not one of
   * documents.
   */
  readonly learned: number;
  /** Watches from now on. */
  watch(tags: readonly string[]): DropWatch;
}

export interface DropWatch {
  /** Whether one of the tags was dropped since, as far as this process knows. */
  readonly dropped: boolean;
  /** The same; asks Redis if messages may have been lost. */
  confirmDropped(): Promise<boolean>;
}
