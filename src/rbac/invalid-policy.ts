/**
 * The error for a policy that grants nothing, with the reason for the condition of its status.
 */

/** Reasons of the condition `Ready`; each but `Ready` means that nothing is granted. */
export type PolicyReason = 'Ready' | 'Invalid' | 'NotGrantable' | 'AdmissionRequired' | 'Ended';

export class InvalidPolicy extends Error {
  readonly reason: Exclude<PolicyReason, 'Ready'>;

  /** @param message for the author of the policy: it reveals nothing that they may not know */
  constructor(reason: Exclude<PolicyReason, 'Ready'>, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function invalid(message: string): InvalidPolicy {
  return new InvalidPolicy('Invalid', message);
}

/** The bound of a list: more would cost time on each request. */
export const MAX_ITEMS = 100;

/** @throws InvalidPolicy for a list that is empty or too long */
export function checkLength(list: readonly unknown[], field: string): void {
  const problem = lengthProblem(list);
  if (problem !== undefined) throw invalid(`${field} ${problem}`);
}

/** @returns what is wrong with a list that is empty or too long, continuing "the list …" */
export function lengthProblem({ length }: readonly unknown[]): string | undefined {
  if (length === 0) return 'is empty';
  return length > MAX_ITEMS ? `has more than ${MAX_ITEMS} items` : undefined;
}
