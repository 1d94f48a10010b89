/**
 * Which mode of impersonation last succeeded for each caller. A caller usually needs one mode only, so it is tried
 * first, as the API server does. The order changes the number of reviews and the error, never the decision.
 */
const MAX_CALLERS = 10_000;

export class LastModes<Mode> {
  readonly #modes = new Map<string, Mode>();

  /** @returns the same modes, the one that last succeeded for this caller first */
  order(caller: string, modes: readonly Mode[]): readonly Mode[] {
    const last = this.#modes.get(caller);
    if (last === undefined || !modes.includes(last) || modes[0] === last) return modes;
    return [last, ...modes.filter((mode) => mode !== last)];
  }

  succeeded(caller: string, mode: Mode): void {
    // Inserted anew, the entry becomes the youngest.
    this.#modes.delete(caller);
    this.#modes.set(caller, mode);
    const [eldest] = this.#modes.keys();
    if (this.#modes.size > MAX_CALLERS && eldest !== undefined) this.#modes.delete(eldest);
  }
}
