/**
 * The lines of a process that were read, as ranges of their numbers: memory grows with the gaps between them
 * and not with the lines.
 */

/** Times are in milliseconds since the epoch. All lines of one minute have the same period. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface LineRange {
  readonly first: number;
  readonly firstPeriod: Period;
  readonly last: number;
  readonly lastPeriod: Period;
}

export class LineRanges {
  /** Ascending, with gaps between them. */
  readonly #ranges: LineRange[] = [];

  get all(): readonly LineRange[] {
    return this.#ranges;
  }

  /** @returns whether the line is new */
  add(line: number, period: Period): boolean {
    const ranges = this.#ranges;
    // Files are read in the order of time, as a rule: the line follows the last range.
    let at = ranges.findLastIndex(({ first }) => first <= line);
    const before = ranges[at];
    if (before !== undefined && line <= before.last) return false;
    const after = ranges[at + 1];
    const joinsBefore = before !== undefined && before.last === line - 1;
    const joinsAfter = after !== undefined && after.first === line + 1;
    const start = joinsBefore ? before : { first: line, firstPeriod: period };
    const end = joinsAfter ? after : { last: line, lastPeriod: period };
    const { first, firstPeriod } = start;
    const range = { first, firstPeriod, last: end.last, lastPeriod: end.lastPeriod };
    if (!joinsBefore) at += 1;
    ranges.splice(at, Number(joinsBefore) + Number(joinsAfter), range);
    return true;
  }
}
