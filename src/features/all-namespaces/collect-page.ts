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

/** `forbidden`: the API server refuses the namespace; `gone`: it does not exist any more. */
export type PartResult = ListPart | 'forbidden' | 'gone' | 'expired';

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
  readonly forbidden: readonly string[];
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
  options: PageOptions,
  request: RequestPart,
): Promise<MergedPage | 'expired'> {
  const page = new PageCollection(options, request);
  while (page.continues) if (!(await page.requestNext())) return 'expired';
  return page.collected();
}

class PageCollection {
  readonly #options: PageOptions;
  readonly #request: RequestPart;
  readonly #namespaces: readonly string[];
  readonly #parts: ListPart[] = [];
  readonly #forbidden: string[] = [];
  #at = 0;
  #more: string | undefined;
  #revision: string | undefined;
  #left: number;
  /** Requests of the next step. */
  #step = 1;

  constructor(options: PageOptions, request: RequestPart) {
    const { namespaces, limit, from } = options;
    this.#options = options;
    this.#request = request;
    this.#namespaces = from ? namespaces.filter((name) => name >= from.namespace) : namespaces;
    this.#more = from?.namespace === this.#namespaces[0] ? from?.more : undefined;
    this.#revision = from?.revision;
    this.#left = limit ?? Number.POSITIVE_INFINITY;
  }

  get continues(): boolean {
    return (
      this.#at < this.#namespaces.length && this.#left > 0 && (this.#more === undefined || this.#isStart)
    );
  }

  get #isStart(): boolean {
    return this.#at === 0 && this.#parts.length === 0;
  }

  /** @returns false if the revision is not known any more */
  async requestNext(): Promise<boolean> {
    const names = this.#namespaces.slice(this.#at, this.#at + this.#step);
    const results = await mapWithConcurrency(names, CONCURRENT_PARTS, async (name) => ({
      name,
      result: await this.#part(name, name === names[0] ? this.#more : undefined),
    }));
    for (const { name, result } of results) {
      if (result === 'expired') return false;
      // A smaller part of it is requested in the next step, which begins with it. The first of a step fits,
      // unless the API server takes no limit: with `resourceVersion=0`.
      if (name !== names[0] && typeof result === 'object' && result.count > this.#left) {
        this.#step = 1;
        return true;
      }
      this.#take(name, result);
      if (this.#left <= 0 || this.#more !== undefined) return true;
    }
    this.#widen();
    return true;
  }

  #part(namespace: string, more: string | undefined): Promise<PartResult> {
    const { limit, listsAtRevision } = this.#options;
    return this.#request({
      namespace,
      limit: limit === undefined ? undefined : this.#left,
      revision: listsAtRevision && more === undefined ? this.#revision : undefined,
      more,
    });
  }

  #take(name: string, result: Exclude<PartResult, 'expired'>): void {
    this.#more = undefined;
    if (result === 'forbidden') this.#forbidden.push(name);
    if (typeof result === 'object') {
      this.#parts.push(result);
      this.#revision = lowest(this.#revision, result.revision);
      this.#left -= result.count;
      this.#more = result.more;
    }
    if (this.#more === undefined) this.#at += 1;
  }

  /** One request at a time until the revision is known. A page is likely to be full after few namespaces. */
  #widen(): void {
    if (this.#revision === undefined) return;
    const isWhole = this.#options.limit === undefined;
    this.#step = isWhole ? this.#namespaces.length : Math.min(this.#step * 2, CONCURRENT_PARTS);
  }

  collected(): MergedPage {
    const namespace = this.#namespaces[this.#at];
    const next =
      namespace === undefined || this.#revision === undefined
        ? undefined
        : { namespace, revision: this.#revision, ...(this.#more !== undefined && { more: this.#more }) };
    return { parts: this.#parts, forbidden: this.#forbidden, revision: this.#revision, next };
  }
}
