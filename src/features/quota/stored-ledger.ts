/**
 * A TenantQuota as a ledger and back: quantities as texts, in the form in which `spec.hard` has them.
 */
import { formatOf, formatQuantity, parseQuantity } from '../../kubernetes/quantity.ts';
import type { Ledger } from './ledger.ts';
import type { TenantQuota, TenantQuotaStatus } from './tenant-quota-v1alpha1.ts';
import { exceeding, NOTHING, type Usage } from './usage.ts';

/** A quantity that cannot be read is zero: if it is in `hard`, nothing may be used of the resource. */
export function ledgerOf({ spec: { hard }, status: { used, reservations = [] } }: TenantQuota): Ledger {
  return {
    hard: amounts(hard),
    used: used && amounts(used),
    reservations: reservations.map(({ uid, usage, seen = {} }) => ({
      uid,
      usage: amounts(usage),
      seen: amounts(seen),
    })),
  };
}

export function reservationStatus({ reservations }: Ledger): NonNullable<TenantQuotaStatus['reservations']> {
  return reservations.map(({ uid, usage, seen }) => ({
    uid,
    usage: texts(usage),
    ...(exceeding(seen, NOTHING).size > 0 && { seen: texts(seen) }),
  }));
}

/** @returns the texts of the resources in `hard`, as `hard` writes them */
export function textsAs(hard: Readonly<Record<string, string>>, usage: Usage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(hard).map(([resource, like]) => [resource, amountText(usage.get(resource) ?? 0n, like)]),
  );
}

/** @param like a quantity whose form is used */
export function amountText(amount: bigint, like: string): string {
  return formatQuantity(amount, formatOf(like));
}

function amounts(record: Readonly<Record<string, string>>): Usage {
  return new Map(Object.entries(record).map(([resource, text]) => [resource, parseQuantity(text) ?? 0n]));
}

function texts(usage: Usage): Record<string, string> {
  return Object.fromEntries(
    [...usage].map(([resource, amount]) => [resource, formatQuantity(amount, 'decimal')]),
  );
}
