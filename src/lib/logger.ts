/**
 * The interface of the program's own log (not the audit log), which `observability/log.ts` implements with
 * pino. Nothing secret may be passed to it: no token, no password, no header of a client.
 */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Tests use it, and commands that have nothing to log. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Stores the texts of states that are checked again and again, so that only changes are logged.
 *
 * @returns whether the text of a state differs from the last one; at first, from the empty text
 */
export function createChangedStates(): (state: string, text: string) => boolean {
  const known = new Map<string, string>();
  return (state, text) => {
    const before = known.get(state) ?? '';
    known.set(state, text);
    return text !== before;
  };
}
