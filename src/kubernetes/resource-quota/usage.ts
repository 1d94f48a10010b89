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

/** The smaller amount of each resource; one that is missing is zero. */
export function smallest(one: Usage, other: Usage): Usage {
  const common = [...one].filter(([resource]) => other.has(resource));
  return new Map(
    common.map(([resource, amount]) => {
      const second = other.get(resource) ?? 0n;
      return [resource, amount < second ? amount : second];
    }),
  );
}
