/**
 * A TenantQuota as a ledger and back: quantities as texts, in the form in which `spec.hard` has them.
 */
import { formatOf, formatQuantity, parseQuantity } from '../../kubernetes/quantity.ts';
import { kindOfResource } from '../../kubernetes/resource-quota/object-usage.ts';
import type { Usage } from '../../kubernetes/resource-quota/usage.ts';
import { createLedger, type Ledger } from './ledger.ts';
import {
  createReservation,
  markOf,
  objectID,
  type Reservation,
  readReservation,
  UNKNOWN_REVISION,
} from './reservation.ts';
import type { TenantQuota, TenantQuotaStatus } from './tenant-quota-v1alpha1.ts';

/** A quantity that cannot be read is zero: if it is in `hard`, nothing may be used of the resource. */
export function ledgerOf({ spec: { hard }, status }: TenantQuota): Ledger {
  const { used = {}, ledger = '', reservations = [] } = status;
  const lines = ledger.split('\n').map(readReservation);
  const read = [...reservations.map(formerReservation), ...lines].filter((one) => one !== undefined);
  return createLedger(amountsIn(hard), amountsIn(used), read);
}

/** A former release stored neither the kind nor the revision. */
function formerReservation({
  uid: identity,
  usage,
  seen = {},
}: NonNullable<TenantQuotaStatus['reservations']>[number]): Reservation {
  const [uid = '', namespace = '', name = ''] = identity.split('/');
  const resource = kindOfResource(Object.keys(usage)[0] ?? '');
  return createReservation({
    id: objectID('', namespace, name, uid),
    mark: 'former',
    revision: UNKNOWN_REVISION,
    object: { resource, namespace, name },
    usage: amountsIn(usage),
    seen: amountsIn(seen),
  });
}

/** Cheaper than `ledgerOf`: every write of a TenantQuota is received. */
export function marksOf({ status: { ledger = '', reservations = [] } }: TenantQuota): string[] {
  const lines = [...reservations.map(formerReservation).map(({ line }) => line), ...ledger.split('\n')];
  return lines.filter((line) => line !== '').map(markOf);
}

/** As a status has them. */
export function linesOf({ reservations }: Ledger): string {
  return [...reservations.values()].map(({ line }) => line).join('\n');
}

/** @returns the texts of the resources in `usage`, as `hard` writes them */
export function textsAs(hard: Readonly<Record<string, string>>, usage: Usage): Record<string, string> {
  const limited = Object.entries(hard).filter(([resource]) => usage.has(resource));
  return Object.fromEntries(
    limited.map(([resource, like]) => [resource, amountText(usage.get(resource) ?? 0n, like)]),
  );
}

/** @param like a quantity whose form is used */
export function amountText(amount: bigint, like: string): string {
  return formatQuantity(amount, formatOf(like));
}

export function amountsIn(record: Readonly<Record<string, string>>): Usage {
  return new Map(Object.entries(record).map(([resource, text]) => [resource, parseQuantity(text) ?? 0n]));
}
