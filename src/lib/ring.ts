/**
 * Those who are there right now, of whom many come and go. Whoever leaves holds on to nobody: a Set makes itself new
 * tables as members come and go, and each old table keeps, until the next full collection, whoever stood in it, with
 * all that hangs on them, and the tables after it.
 */

/** A place in a ring, alone in it at first. A member extends it; one that is no member is where the ring begins. */
export class Place {
  #before: Place = this;
  #behind: Place = this;

  /** All others of its ring, in their order. */
  *others(): Generator<Place> {
    for (let place = this.#behind; place !== this; place = place.#behind) yield place;
  }

  /** Right behind this one; this one itself if it is alone. */
  get next(): Place {
    return this.#behind;
  }

  /** Right before this one; this one itself if it is alone. */
  get previous(): Place {
    return this.#before;
  }

  get alone(): boolean {
    return this.#behind === this;
  }

  /** Joins the other's ring, right before it. */
  joinBefore(other: Place): void {
    this.#before = other.#before;
    this.#behind = other;
    other.#before.#behind = this;
    other.#before = this;
  }

  unlink(): void {
    this.#before.#behind = this.#behind;
    this.#behind.#before = this.#before;
    this.#before = this;
    this.#behind = this;
  }
}
