/**
 * The port for documents that many users read and that change rarely, such as a tenant's discovery.
 * Implemented in `cache/document-cache.ts`.
 */

export interface DocumentRequest {
  /** The owner of the document: owners share none. */
  readonly owner: string;
  /**
   * Who waits for it, and in whose queue it is fetched; the owner without it. The users of two queues share
   * documents that are there, but never wait for one fetch.
   */
  readonly queue?: string;
  /** Everything the document depends on beside its owner; an owner's keys must be few. */
  readonly key: string;
  /** The version of the document; only the version requested last is cached. */
  readonly version?: string;
  /** False if the document is fetched for each request. */
  readonly reusable: boolean;
}

export interface DocumentCache<T> {
  /**
   * Returns the cached document or loads it. One `load` runs per document at a time, and its signal is
   * aborted when no caller waits any more. Errors are not cached.
   *
   * @param signal aborted when the caller stops waiting
   * @throws StatusError TenantRateExceeded if too many documents are being loaded for the queue
   */
  get(request: DocumentRequest, signal: AbortSignal, load: (signal: AbortSignal) => Promise<T>): Promise<T>;
}
