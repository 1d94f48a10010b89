/**
 * The lines of a process that were read, as ranges of their numbers: memory grows with the gaps between them
 * and not with the lines.
 */

export interface LineRange {
  readonly first: number;
  readonly last: number;
  /** The beginning of the period of `first`, in milliseconds since the epoch. */
  readonly from: number;
  /** The end of the period of `last`. */
  readonly to: number;
}

export class LineRanges {
  /** Ascending, with gaps between them. */
  readonly #ranges: LineRange[] = [];

  get all(): readonly LineRange[] {
    return this.#ranges;
  }

  /**
   * @param from of the line's period, in milliseconds since the epoch
   * @returns whether the line is new
   */
  add(line: number, from: number, to: number): boolean {
    const ranges = this.#ranges;
    // Files are read in the order of time, as a rule: the line follows the last range.
    let at = ranges.findLastIndex(({ first }) => first <= line);
    const before = ranges[at];
    if (before !== undefined && line <= before.last) return false;
    const after = ranges[at + 1];
    const joinsBefore = before !== undefined && before.last === line - 1;
    const joinsAfter = after !== undefined && after.first === line + 1;
    const start = joinsBefore ? before : { first: line, from };
    const end = joinsAfter ? after : { last: line, to };
    const range = { first: start.first, from: start.from, last: end.last, to: end.to };
    if (!joinsBefore) at += 1;
    ranges.splice(at, Number(joinsBefore) + Number(joinsAfter), range);
    return true;
  }
}
