/**
 * Amounts of resources by the names of ResourceQuota, exact and in nano-units.
 */
export type Usage = ReadonlyMap<string, bigint>;

export const NOTHING: Usage = new Map();

export function sum(usages: Iterable<Usage>): Usage {
  const total = new Map<string, bigint>();
  for (const usage of usages)
    for (const [resource, amount] of usage) total.set(resource, (total.get(resource) ?? 0n) + amount);
  return total;
}

/** What `usage` has above `other`. */
export function exceeding(usage: Usage, other: Usage): Usage {
  const above = [...usage].map(
    ([resource, amount]) => [resource, amount - (other.get(resource) ?? 0n)] as const,
  );
  return new Map(above.filter(([, amount]) => amount > 0n));
}

/** The larger amount of each resource. */
export function largest(one: Usage, other: Usage): Usage {
  const result = new Map(one);
  for (const [resource, amount] of other)
    if (amount >= (result.get(resource) ?? 0n)) result.set(resource, amount);
  return result;
}

/** Whether no resource of `other` is larger than in `usage`. */
export function atLeast(usage: Usage, other: Usage): boolean {
  return exceeding(other, usage).size === 0;
}
