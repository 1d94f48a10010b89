/**
 * An intrusive, circular, doubly linked list. A Set of short-lived members allocates new tables as they come
 * and go, and each old table retains its former members, and the tables after it, until the next full
 * collection; an unlinked node retains nothing.
 */

/**
 * A node, unlinked at first. A list is a plain node as its head, which is no member; members extend the
 * class.
 */
export class ListNode {
  #previous: ListNode = this;
  #next: ListNode = this;

  /** All other nodes of its list, in order. */
  *others(): Generator<ListNode> {
    for (let node = this.#next; node !== this; node = node.#next) yield node;
  }

  /** The node after this one; itself if it is unlinked. */
  get next(): ListNode {
    return this.#next;
  }

  /** The node before this one; itself if it is unlinked. */
  get previous(): ListNode {
    return this.#previous;
  }

  /** Says of a member whether it is in a list, and of a head whether the list has members. */
  get linked(): boolean {
    return this.#next !== this;
  }

  insertBefore(other: ListNode): void {
    this.#previous = other.#previous;
    this.#next = other;
    other.#previous.#next = this;
    other.#previous = this;
  }

  unlink(): void {
    this.#previous.#next = this.#next;
    this.#next.#previous = this.#previous;
    this.#previous = this;
    this.#next = this;
  }
}
