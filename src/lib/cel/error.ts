/**
 * What goes wrong in an expression. No message repeats a value: it may be of a token.
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
