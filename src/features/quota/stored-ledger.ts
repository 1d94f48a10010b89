/**
 * A TenantQuota as a ledger and back: quantities as texts, in the form in which `spec.hard` has them.
 */
import { kindOfResource } from '../../kubernetes/resource-quota/object-usage.ts';
import { amountsIn } from '../../kubernetes/resource-quota/usage.ts';
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

/** Reads less than `ledgerOf`, since it is called for every change of a TenantQuota that is received. */
export function marksOf({ status: { ledger = '', reservations = [] } }: TenantQuota): string[] {
  const lines = [...reservations.map(formerReservation).map(({ line }) => line), ...ledger.split('\n')];
  return lines.filter((line) => line !== '').map(markOf);
}

/** @returns the field `ledger` of a status */
export function linesOf({ reservations }: Ledger): string {
  return [...reservations.values()].map(({ line }) => line).join('\n');
}
