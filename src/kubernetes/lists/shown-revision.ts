/**
 * Revisions of filtered lists, bookmarks and continue tokens: the API server's revision, followed by eight
 * digits, which are a hash of what the user may see. A client that brings them back says what it has, so
 * nothing is stored of clients.
 */

const DIGITS = 8;
const SCALE = 10 ** DIGITS;
/**
 * A client's revision is not this many times the index's own, unless it has digits. Some resources are stored
 * elsewhere, and have higher revisions.
 */
const LARGEST_RATIO = 10_000_000n;

/** A hash of a set of texts, the same in every process. It is a sum: one change needs one addition. */
export class ContentHash {
  #sum = hashOf('');

  get digits(): string {
    return String(this.#sum).padStart(DIGITS, '0');
  }

  add(text: string): void {
    this.#sum = (this.#sum + hashOf(text)) % SCALE;
  }

  remove(text: string): void {
    this.#sum = (this.#sum - hashOf(text) + SCALE) % SCALE;
  }
}

export function contentDigits(texts: Iterable<string>): string {
  const hash = new ContentHash();
  for (const text of texts) hash.add(text);
  return hash.digits;
}

/** FNV-1a with the finalizer of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % SCALE;
}

export function withDigits(revision: number | string, digits: string): string {
  return `${revision}${digits}`;
}

/** Empty for a revision that is too short to have any. */
export function digitsIn(resourceVersion: string): string {
  return resourceVersion.length > DIGITS ? resourceVersion.slice(-DIGITS) : '';
}

/** @returns the revision without its digits */
export function revisionIn(resourceVersion: string): string {
  return resourceVersion.slice(0, -DIGITS);
}

/**
 * Whether a client got the revision from a filtered response, by its size.
 *
 * @param highest revision that the index knows
 */
export function hasDigits(resourceVersion: string, highest: number): boolean {
  if (!/^[0-9]{9,20}$/.test(resourceVersion)) return false;
  return BigInt(resourceVersion) >= BigInt(Math.max(highest, 1)) * LARGEST_RATIO;
}

/** The API server's own revision. */
export function withoutDigits(resourceVersion: string, highest: number): string {
  return hasDigits(resourceVersion, highest) ? revisionIn(resourceVersion) : resourceVersion;
}
