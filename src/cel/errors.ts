/**
 * Errors of expressions. No message repeats a value, which may come from a token.
 */

/** The expression does not compile. */
export class SyntaxFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** The expression cannot be evaluated on this token. `&&`, `||` and the macros made of them may absorb it. */
export class EvaluationFault extends Error {}

/** The evaluation has cost all it may: nothing absorbs this. */
export class BudgetSpent extends Error {}

export function noSuchOverload(name: string): EvaluationFault {
  return new EvaluationFault(`no such overload of ${name}`);
}

const LIMIT = 1_000_000;
/** The cost of reading one character. */
const TRAVERSAL = 0.1;
/** The cost of one character of a pattern. */
const PATTERN = 0.25;

export class Budget {
  #left = LIMIT;

  /** @throws BudgetSpent */
  spend(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new BudgetSpent('costs more than kube-apiserver allows');
  }

  /** Charges for reading so many characters. */
  spendText(characters: number): void {
    this.spend(Math.ceil(characters * TRAVERSAL));
  }

  spendPattern(characters: number, pattern: number): void {
    this.spend(Math.ceil((characters + 1) * TRAVERSAL) * Math.ceil(pattern * PATTERN));
  }
}
