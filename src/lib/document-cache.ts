/**
 * The port for documents that many people are shown and that change seldom, such as a tenant's discovery.
 * Implemented in `cache/document-cache.ts`.
 */

export interface DocumentCache<T> {
  /**
   * The kept document, or what `load` fetches; one `load` runs per key at a time. What it throws is not kept.
   *
   * @param key everything the document depends on: tenant, path, query, what the client accepts
   */
  get(key: string, load: () => Promise<T>): Promise<T>;
}
