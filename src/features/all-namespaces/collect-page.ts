/**
 * Collects one page of a list from the lists of single namespaces: in the order of the namespaces, each
 * object once, with as many requests at a time as are likely to be needed. A whole list is a page without a
 * limit.
 */
import { mapWithConcurrency } from '../../lib/concurrency.ts';
import { type ListPart, lowest } from './list-part.ts';

/** Requests to the API server at a time. */
export const CONCURRENT_PARTS = 8;

export interface PartRequest {
  readonly namespace: string;
  /** The most objects; undefined for all. */
  readonly limit: number | undefined;
  /** The revision of the whole list; undefined if the part may choose it, as the client asked. */
  readonly revision: string | undefined;
  /** The API server's `continue` token for the rest of the part. */
  readonly more: string | undefined;
}

/** `gone`: the namespace does not exist any more. */
export type PartResult = ListPart | 'gone' | 'expired';

/** @throws whatever fails the whole list */
export type RequestPart = (request: PartRequest) => Promise<PartResult>;

/** The position at which a page begins. */
export interface MergedPosition {
  readonly namespace: string;
  readonly more?: string;
  /** The revision of the first page. */
  readonly revision: string;
}

export interface MergedPage {
  readonly parts: readonly ListPart[];
  /** The list's revision is the lowest of its parts. Undefined if no part was listed. */
  readonly revision: string | undefined;
  /** Undefined on the last page. */
  readonly next: MergedPosition | undefined;
}

export interface PageOptions {
  /** The namespaces in the order of the list. */
  readonly namespaces: readonly string[];
  /** The most objects of the page; undefined for all. */
  readonly limit: number | undefined;
  /** Undefined for the first page. */
  readonly from: MergedPosition | undefined;
  /** Whether the API server lists at an exact revision. */
  readonly listsAtRevision: boolean;
}

/** @returns `expired` if the API server no longer knows the revision */
export async function collectPage(
  { namespaces: all, limit, from, listsAtRevision }: PageOptions,
  request: RequestPart,
): Promise<MergedPage | 'expired'> {
  const namespaces = from ? all.filter((name) => name >= from.namespace) : all;
  const parts: ListPart[] = [];
  let resumed = from?.namespace === namespaces[0] ? from?.more : undefined;
  let revision = from?.revision;
  let left = limit ?? Number.POSITIVE_INFINITY;
  let at = 0;
  let more: string | undefined;
  let step = 1;
  while (at < namespaces.length && left > 0 && more === undefined) {
    const names = namespaces.slice(at, at + step);
    const part = {
      limit: limit === undefined ? undefined : left,
      revision: listsAtRevision && resumed === undefined ? revision : undefined,
      more: resumed,
    };
    resumed = undefined;
    const results = await mapWithConcurrency(names, CONCURRENT_PARTS, (namespace) =>
      request({ ...part, namespace }),
    );
    let overflows = false;
    for (const [nth, result] of results.entries()) {
      if (result === 'expired') return 'expired';
      // A smaller part of it is requested in the next step, which begins with it. The first of a step fits,
      // unless the API server takes no limit: with `resourceVersion=0`.
      overflows = nth > 0 && typeof result === 'object' && result.count > left;
      if (overflows) break;
      if (typeof result === 'object') {
        parts.push(result);
        revision = lowest(revision, result.revision);
        left -= result.count;
        more = result.more;
      }
      if (more === undefined) at += 1;
      if (left <= 0 || more !== undefined) break;
    }
    // One request at a time until the revision is known. A page is likely to be full after few namespaces.
    if (overflows || revision === undefined) step = 1;
    else step = limit === undefined ? namespaces.length : Math.min(step * 2, CONCURRENT_PARTS);
  }
  const namespace = namespaces[at];
  const next =
    namespace === undefined || revision === undefined
      ? undefined
      : { namespace, revision, ...(more !== undefined && { more }) };
  return { parts, revision, next };
}
