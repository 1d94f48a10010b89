/**
 * Why a policy grants nothing, as the conditions of its status say it.
 */

/** Reasons of the condition `Ready`; each but `Ready` means that nothing is granted. */
export type PolicyReason = 'Ready' | 'Invalid' | 'NotGrantable' | 'AdmissionRequired' | 'Ended';

export class InvalidPolicy extends Error {
  readonly reason: Exclude<PolicyReason, 'Ready'>;

  /** @param message for the author of the policy: it tells nothing that they may not know */
  constructor(reason: Exclude<PolicyReason, 'Ready'>, message: string) {
    super(message);
    this.reason = reason;
  }
}

export function invalid(message: string): InvalidPolicy {
  return new InvalidPolicy('Invalid', message);
}
