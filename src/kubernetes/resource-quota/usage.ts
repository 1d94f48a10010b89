/**
 * Amounts of resources by the names of ResourceQuota, exact and in nano-units.
 */
import { formatLike, parseQuantity } from '../quantity.ts';

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

/** Reads `hard` or `used`. A quantity that cannot be read is zero: nothing may be used of the resource. */
export function amountsIn(record: Readonly<Record<string, string>>): Usage {
  return new Map(Object.entries(record).map(([resource, text]) => [resource, parseQuantity(text) ?? 0n]));
}

/** @returns the texts of the resources in `usage`, as `hard` writes them */
export function textsAs(hard: Readonly<Record<string, string>>, usage: Usage): Record<string, string> {
  const limited = Object.entries(hard).filter(([resource]) => usage.has(resource));
  return Object.fromEntries(
    limited.map(([resource, like]) => [resource, formatLike(usage.get(resource) ?? 0n, like)]),
  );
}
