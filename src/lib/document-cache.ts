/**
 * The port for documents that many people are shown and that change seldom, such as a tenant's discovery.
 * Implemented in `cache/document-cache.ts`.
 */

export interface DocumentRequest {
  /** Whose it is: owners take no place and no turn from each other. */
  readonly owner: string;
  /** Everything the document depends on beside its owner; an owner's keys must be few. */
  readonly key: string;
  /** Which of a key's many documents; the last one asked for is kept. */
  readonly version?: string;
  /** False for what must be asked anew each time. */
  readonly reusable: boolean;
}

export interface DocumentCache<T> {
  /**
   * The kept document, or what `load` fetches; one `load` runs per document at a time, and its signal is
   * aborted when the last who waits for it has left. What it throws is not kept.
   *
   * @param signal aborted when the caller waits no more
   * @throws StatusError TenantRateExceeded where too many of the owner's documents are waited for already
   */
  get(request: DocumentRequest, signal: AbortSignal, load: (signal: AbortSignal) => Promise<T>): Promise<T>;
}
