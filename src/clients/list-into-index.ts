/**
 * Lists one resource into the RBAC index, page by page: all objects of a cluster may be more than fits in
 * memory.
 */
import type { IndexedResource } from '../api/rbac-v1.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import type { RBACIndex, ResourceList } from '../rbac/rbac-index.ts';
import { listPages } from './list-pages.ts';
import { MalformedObject, type RBACReader, type WrittenObject } from './read-rbac-object.ts';

export interface ListObjectsOptions {
  readonly resource: IndexedResource;
  /** The path of the list, without a query. */
  readonly path: string;
  readonly reader: RBACReader;
  readonly index: RBACIndex;
  /** Called for each page. */
  readonly upstream: () => UpstreamFetcher;
  /** An object that cannot be read is left out: another list would contain it too. */
  readonly onMalformed: (error: MalformedObject) => void;
}

/** @throws as `listPages` does */
export async function listIntoIndex(
  { resource, path, reader, index, upstream, onMalformed }: ListObjectsOptions,
  signal: AbortSignal,
): Promise<void> {
  let list: ResourceList | undefined;
  function* objectsOf(items: readonly WrittenObject[]) {
    for (const item of items)
      try {
        yield reader.read(resource, item);
      } catch (error) {
        if (!(error instanceof MalformedObject)) throw error;
        onMalformed(error);
      }
  }
  const pages = {
    restart() {
      list = undefined;
    },
    take(items: readonly WrittenObject[], revision: number) {
      list ??= index.beginList(resource, revision);
      list.take(objectsOf(items));
    },
  };
  await listPages(upstream, path, pages, signal);
  list?.end();
}
