/**
 * What one evaluation may cost: as much as kube-apiserver allows, counted in its way. A token's holder may choose what
 * is in a claim, so that this bounds what a request can cost.
 * https://kubernetes.io/docs/reference/using-api/cel/#resource-constraints
 */
import { BudgetSpent } from './error.ts';

const LIMIT = 1_000_000;
/** Of a character that is read. */
const TRAVERSAL = 0.1;
/** Of a character of a pattern. */
const PATTERN = 0.25;

export class Budget {
  #left = LIMIT;

  /** @throws BudgetSpent */
  spend(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new BudgetSpent('costs more than kube-apiserver allows');
  }

  /** For text of so many characters in all. */
  spendText(characters: number): void {
    this.spend(Math.ceil(characters * TRAVERSAL));
  }

  spendPattern(characters: number, pattern: number): void {
    this.spend(Math.ceil((characters + 1) * TRAVERSAL) * Math.ceil(pattern * PATTERN));
  }
}
