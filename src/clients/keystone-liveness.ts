/**
 * Checks whether a token is alive, many askers sharing one check, but never one that had begun before they asked: its
 * answer may be older than what made them ask. So at most one check runs and one waits, whatever the flood.
 */

/** @param check asks Keystone about the token */
export function createLivenessCheck(
  check: (token: string) => Promise<boolean>,
): (token: string) => Promise<boolean> {
  const running = new Map<string, Promise<boolean>>();
  const waiting = new Map<string, Promise<boolean>>();

  function start(token: string): Promise<boolean> {
    const started = check(token).finally(() => running.delete(token));
    running.set(token, started);
    return started;
  }

  return (token) => {
    const next = waiting.get(token);
    if (next) return next;
    const before = running.get(token);
    if (!before) return start(token);
    const after = () => {
      waiting.delete(token);
      return start(token);
    };
    const queued = before.then(after, after);
    waiting.set(token, queued);
    return queued;
  };
}
