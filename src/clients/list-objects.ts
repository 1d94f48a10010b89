/**
 * Lists one resource of the RBAC index, page by page.
 */
import type { IndexedResource, StoredObject } from '../api/rbac-v1.ts';
import type { UpstreamFetcher } from '../pipeline/ports.ts';
import { listPages } from './list-pages.ts';
import { MalformedObject, type RBACReader, type WrittenObject } from './read-rbac-object.ts';

export interface ListObjectsOptions {
  readonly resource: IndexedResource;
  /** Of the list, without a query. */
  readonly path: string;
  readonly reader: RBACReader;
  /** Called for each page. */
  readonly upstream: () => UpstreamFetcher;
  /** An object that cannot be read is left out: another list would contain it too. */
  readonly onMalformed: (error: MalformedObject) => void;
}

export interface ListedObjects {
  readonly objects: readonly StoredObject[];
  readonly revision: number;
}

/** @throws as `listPages` does */
export async function listObjects(
  { resource, path, reader, upstream, onMalformed }: ListObjectsOptions,
  signal: AbortSignal,
): Promise<ListedObjects> {
  let objects: StoredObject[] = [];
  const pages = {
    restart() {
      objects = [];
    },
    take(items: readonly WrittenObject[]) {
      for (const item of items)
        try {
          objects.push(reader.read(resource, item));
        } catch (error) {
          if (!(error instanceof MalformedObject)) throw error;
          onMalformed(error);
        }
    },
  };
  const revision = await listPages(upstream, path, pages, signal);
  return { objects, revision };
}
