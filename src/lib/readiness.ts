/**
 * What a part says of itself at `/readyz`.
 */

export interface ReadinessCheck {
  /** The name that the operator is shown: `upstream`, `issuer https://…`. */
  readonly name: string;
  /** @returns undefined when ready, else why not: no secret, one line */
  notReadyBecause(): string | undefined;
}

/** Milliseconds after the start of a process for which it is not ready without what it lists. */
export const READY_TIMEOUT = 60_000;
