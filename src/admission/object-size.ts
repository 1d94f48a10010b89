/**
 * Bounds what an evaluation reads: a text of two megabytes can hold a million empty containers.
 */

/** Whether a value of JSON holds at most `max` values, itself included. It does not recurse. */
export function isWithinNodes(value: unknown, max: number): boolean {
  const pending: unknown[] = [value];
  let nodes = 0;
  for (; pending.length > 0; nodes += 1) {
    if (nodes + pending.length > max) return false;
    const one = pending.pop();
    if (typeof one !== 'object' || one === null) continue;
    for (const member of Object.values(one)) pending.push(member);
  }
  return true;
}
