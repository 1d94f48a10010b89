/**
 * What a part says of itself at `/readyz`.
 */

export interface ReadinessCheck {
  /** The name that the operator is shown: `upstream`, `issuer https://…`. */
  readonly name: string;
  /** @returns undefined when ready, else why not: no secret, one line */
  notReadyBecause(): string | undefined;
}
